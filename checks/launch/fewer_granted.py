"""A server will run fewer requests at a time than it is asked for

## What it finds
A launch line that asks for more requests at a time than the plan says will be granted. A note: as many are granted, and
the pool has no room for that many of 2,048 tokens each, so some are taken back and wait.

## Why it matters
SGLang cuts the number, older versions without a word. Clients then wait in its queue, and what is measured is the
queue.

## How it is found
The memory model of the installed version (`sm120kit plan`) is worked out for the GPUs of each server as they are now.

## Remedy
Ask for what is granted, or take one of the other ways that the plan names.

## Sources
- sgl-project/sglang#36889, #38846
- checks/tables/sglang_capacity.toml
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.fewer-granted")

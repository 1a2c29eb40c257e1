"""The model does not fit the GPUs that it is to be served on

## What it finds
A server for which the plan says that it will not start, or that its graphs will not fit.

## Why it matters
It would load for minutes and then end with "Not enough memory" or in the capture of its graphs, each server of the
fleet in turn.

## How it is found
The memory model of the installed version (`sm120kit plan`) is worked out for the GPUs of each server as they are now.

## Remedy
What the plan says would fit: other arguments, more GPUs for one server, a quantised checkpoint.

## Sources
- checks/tables/sglang_capacity.toml, and the sources named in `sm120kit explain capacity.no-room-for-weights`
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.memory-short")

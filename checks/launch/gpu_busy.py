"""Somebody else holds memory of a GPU that a server is to run on

## What it finds
A GPU of the fleet on which memory is taken before any server was started.

## Why it matters
The static fraction is a fraction of what is free when the server starts, not of the card: whatever is taken shrinks
the pool, so this server would grant fewer requests than its sisters. With another server on the card it will not
start.

## How it is found
NVML tells the memory of each GPU. A little (1 GiB) is what a display or a monitor takes. It is an error where the
plan says that the server would not start with what is left, or where a tenth of the card is taken and nothing can be
planned. Whose memory it is can be named where NVML tells process numbers of this machine: in a container they are the
host's, or none, so that only the memory counts there.

## Remedy
End what holds the memory, or leave the GPU out with --gpus.

## Sources
- sglang 0.5.12: srt/model_executor/model_runner_kv_cache_mixin.py:62-76; 0.5.23: srt/mem_cache/kv_cache_configurator.py
- NVIDIA/nvidia-docker#179: process numbers in containers
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.gpu-busy")

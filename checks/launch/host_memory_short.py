"""The machine has too little memory for all servers

## What it finds
Less memory available than the servers' own processes will take, or than a copy on a RAM disk beside them.

## Why it matters
The kernel ends the largest process when memory runs out: a server that was just verified.

## How it is found
The memory that is available, by /proc/meminfo and the limits of control groups, is compared with 2 GiB for each
server (1.9 GiB were seen for the three processes of one without a GPU, the least there can be), the model for each
server on the CPU, the host's part of a hierarchical cache, and what --stage copies to a RAM disk. It is a warning
where the weights fit no more beside that: every server then reads them from the disk again.

## Remedy
Start fewer servers, leave --stage or the hierarchical cache out, or give the container more memory.

## Sources
- SGLang 0.5.12 and 0.5.23 run without a GPU: 1.9 GiB in three processes
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.host-memory-short")

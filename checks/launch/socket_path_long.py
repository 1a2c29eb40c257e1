"""Temporary files lie too deep for SGLang's sockets

## What it finds
A folder for temporary files whose path leaves no room for the names of sockets.

## Why it matters
SGLang's processes speak through sockets in TMPDIR, and the path of a socket has 107 bytes at most. A longer one fails
while the server starts, with "ipc path is longer than 107 characters".

## How it is found
The length of the folder that is used for temporary files (TMPDIR, else /tmp), with what is made below it.

## Remedy
Set TMPDIR to a shorter path, such as /tmp.

## Sources
- unix(7): sun_path
- sglang 0.5.12: srt/server_args.py (PortArgs)
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.socket-path-long")

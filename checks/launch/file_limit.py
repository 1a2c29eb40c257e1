"""The limit of open files is low for a server

## What it finds
A hard limit of open files that a server cannot raise to what it asks for.

## Why it matters
SGLang raises its limit to 65535 when it starts and goes on without where it may not. Every connection of a client and
every shard is an open file.

## How it is found
RLIMIT_NOFILE of this process, which the servers inherit. Below 4096 it is a warning, below 1024 an error: a server
holds some hundred files of its own.

## Remedy
Raise the hard limit: `LimitNOFILE=` in a systemd unit, `--ulimit nofile=` for docker, /etc/security/limits.conf.

## Sources
- sglang 0.5.12: srt/utils/common.py (set_ulimit)
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.file-limit")

"""A port that a server of the fleet needs is taken

## What it finds
A port of a server to be launched that cannot be opened: another process listens there, this user may not open it, or
the address is not one of this machine.

## Why it matters
SGLang binds its port only after the model is loaded. Its warm-up request then reaches whoever owns the port, and the
log says `The server is fired up and ready to roll!` although this server is about to end. Ports of torch.distributed
fail in the middle of loading.

## How it is found
Every port is opened for a moment, on the address that the servers get, and closed again: those for HTTP, those of
torch.distributed, and what a version takes of its own accord (checks/tables/sglang_ports.toml). Between that look and
the moment when a server binds, somebody else may still take it: so a verified server is also one that owns its port.

## Remedy
End the process that owns it, or move the fleet with --base-port or --base-nccl-port.

## Sources
- SGLang 0.5.12 and 0.5.23 run on a port that another server of theirs owned
- sglang 0.5.12: srt/server_args.py:7786-7850 (PortArgs)
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.port-taken")

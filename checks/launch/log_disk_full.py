"""The disk that logs and state go to is full or nearly so

## What it finds
Little room, or no free inode, on the file system of the logs or of the fleet's state.

## Why it matters
A log that cannot be written cannot tell why a server died, and a state that cannot be written is no longer true.

## How it is found
What the file system says is free for this user.

## Remedy
Make room, or name another place with --log-dir or XDG_STATE_HOME.

## Sources
- statvfs(3)
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.log-disk-full")

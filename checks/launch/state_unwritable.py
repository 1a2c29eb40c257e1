"""The folder of logs or state cannot be written

## What it finds
A place for logs or for the fleet's state that cannot be made or written by this user.

## Why it matters
Without it a launch can neither be watched nor stopped by another command.

## How it is found
The folder itself, else the nearest one above it that is there.

## Remedy
Name another place with --log-dir or XDG_STATE_HOME, or run as the user who owns it.

## Sources
- XDG Base Directory Specification
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.state-unwritable")

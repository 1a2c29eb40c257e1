"""The RAM disk has no room for the model

## What it finds
A folder for --stage that cannot hold a copy of the model, cannot be written, or is no RAM disk.

## Why it matters
A copy that fills the disk to its end fails after minutes. A copy on an ordinary disk is read no faster than the model
where it lies.

## How it is found
Sizes of all files of the model, links followed, against what is free on the file system; a copy that is there already
and still fits needs nothing.

## Remedy
Make room, mount a larger one (`mount -o remount,size=...`), or leave --stage out.

## Sources
- tmpfs(5)
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.stage-no-room")

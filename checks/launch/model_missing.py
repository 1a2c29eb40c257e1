"""The model that was named is not there

## What it finds
A model that is neither a folder or file on this machine, nor a name that a hub could know, nor one that was
downloaded while downloading is forbidden. In a rehearsal, which needs no model, a path that is not there is a warning.

## Why it matters
SGLang takes a path that is not there for the name of a repository, and speaks of repositories and their form after
half a minute of imports.

## How it is found
The path is looked for as the server would; a name is looked for in the cache of the hub (HF_HUB_CACHE, HF_HOME).

## Remedy
Correct the path. In a container, look whether the folder was mounted. For a name: download the model first, or allow
the download (HF_HUB_OFFLINE).

## Sources
- SGLang 0.5.23 run with a path that is not there
- huggingface_hub: constants.py (HF_HUB_CACHE, HF_HOME, HF_HUB_OFFLINE)
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.model-missing")

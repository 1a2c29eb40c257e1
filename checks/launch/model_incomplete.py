"""Files of the model are missing, cut off or not readable

## What it finds
A model folder without a config.json that can be read, without weights, without a tokenizer, or with weight files that
are missing, cut off or may not be read.

## Why it matters
Weights are read in order, so a last file that is cut off shows after minutes, on every server.

## How it is found
The index names the files, and the header of each says how long it must be; no tensor is read. With --load-format
dummy weights are not looked at, with a tokenizer of its own (--tokenizer-path) no tokenizer.

## Remedy
Download the model again, or the files that are named.

## Sources
- huggingface/safetensors: README, "Format"
- SGLang 0.5.23 run with a folder without config.json
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.model-incomplete")

"""Servers that need no key will listen to the network

## What it finds
An address other than this machine's own to listen on, with no key that clients must send.

## Why it matters
Whoever reaches the port can use the model, and SGLang's endpoints that change or end a server.

## How it is found
--host and --api-key.

## Remedy
Give --api-key-file, or listen on 127.0.0.1 behind a proxy.

## Sources
- sglang: docs, "Server arguments" (--api-key)
"""

from sm120kit.diagnosis import preflight_question

QUESTION = preflight_question("launch.open-to-network")

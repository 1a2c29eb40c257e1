"""Requests use up the KV cache while the server works

## What it finds
A scheduler that found no room for tokens or requests that it had admitted.

## Why it matters
The scheduler takes in requests by an estimate of how long their answers get (--schedule-conservativeness). Where most
of them get longer, it takes some back; where it cannot, it ends.

## How it is found
By the words of SGLang's allocator.

## Remedy
Lower --max-running-requests, or raise --schedule-conservativeness above 1. More room is made by
--mem-fraction-static, an fp8 KV cache, or a larger --tp-size.

## Sources
- SGLang 0.5.12: mem_cache/common.py; 0.5.23: mem_cache/allocation.py
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("memory.pool-exhausted")

SIGNATURES = [
    Signature(
        pattern=r"(?P<phase>Prefill|Decode) out of memory\. Try to lower your batch size",
        rank="cause",
        example="Decode out of memory. Try to lower your batch size.",
        look_alike="Decode batch, #running-req: 9, #token: 4711, token usage: 0.99, #queue-req: 3,",
        source="SGLang 0.5.12: mem_cache/common.py",
        versions="SGLang 0.5.x",
        message="The KV cache was full ({phase}): more requests were admitted than it holds",
        remedies=(
            LogRemedy("Admit less: lower --max-running-requests, or raise --schedule-conservativeness above 1"),
            LogRemedy("Hold more: raise --mem-fraction-static, use --kv-cache-dtype fp8_e4m3, more GPUs by --tp-size"),
        ),
    ),
    Signature(
        pattern=r"alloc_req_slots runs out of memory",
        rank="cause",
        example="RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for "
        "`--max-running-requests`. "
        "req_to_token_pool.available_size()=0, num_reqs=1, ",
        look_alike="req_to_token_pool.available_size()=48",
        source="SGLang 0.5.12: mem_cache/common.py",
        versions="SGLang 0.5.x",
        message="All slots for requests are taken",
        remedies=(LogRemedy("Set a smaller --max-running-requests"),),
    ),
]

"""The state cache of a hybrid model limits how many requests run at once, down to none

## What it finds
Models with linear attention or Mamba layers whose state cache holds fewer requests than were asked for.

## Why it matters
Each running request needs several slots of the state cache, whatever its length. The server starts, answers, and
takes in a fraction of the concurrency that was asked for; /get_server_info still shows what was asked. 0.5.12 does so
without a word.

## How it is found
By the warning that 0.5.23 writes, and by the errors of servers that are left with no request at all.

## Remedy
Halve the size of a state (--mamba-ssm-dtype bfloat16), give the state cache a larger share
(--mamba-full-memory-ratio), or say how many slots it must hold (--max-mamba-cache-size: requests times slots per
request).

## Sources
- SGLang 0.5.23: mem_cache/kv_cache_configurator.py; 0.5.12: managers/tp_worker.py
- sgl-project/sglang#38846, #33004, #36041; vllm-project/recipes#831, vllm-project/vllm#49064
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("memory.state-cache-limits")

_MORE = (
    LogRemedy("Halve the size of a state: --mamba-ssm-dtype bfloat16 (compare answers before and after)"),
    LogRemedy(
        "Give the state cache a larger share: a higher --mamba-full-memory-ratio (default 0.9), at the expense of "
        "tokens"
    ),
)

SIGNATURES = [
    Signature(
        pattern=r"max_running_requests is capped to (?P<granted>\d+) by the mamba state cache \(max_mamba_cache_size="
        r"(?P<slots>\d+), (?P<each>\d+) state slots per request\)",
        rank="limit",
        example="max_running_requests is capped to 9 by the mamba state cache (max_mamba_cache_size=47, 5 state "
        "slots per "
        "request). To raise it: increase --mamba-full-memory-ratio or --max-mamba-cache-size, or halve the state "
        "size with "
        "--mamba-ssm-dtype bfloat16.",
        look_alike="Mamba Cache is allocated. max_mamba_cache_size: 47, conv_state size: 0.12GB, ssm_state size: "
        "4.41GB ",
        source="SGLang 0.5.23: mem_cache/kv_cache_configurator.py; sgl-project/sglang#38846",
        versions="SGLang 0.5.23",
        message="At most {granted} requests run at once: the state cache has {slots} slots, and a request takes {each}",
        remedies=(LogRemedy("Ask for slots: --max-mamba-cache-size, {each} for each request that is to run"), *_MORE),
    ),
    Signature(
        pattern=r"max_running_requests was reduced from the requested (?P<asked>\d+) to (?P<granted>\d+)",
        rank="limit",
        example="max_running_requests was reduced from the requested 128 to 16 (per dp worker) due to the "
        "available KV cache "
        "capacity.",
        look_alike="max_total_num_tokens=8192, chunked_prefill_size=4096, max_prefill_tokens=16384, "
        "max_running_requests=2048,",
        source="SGLang 0.5.23: mem_cache/kv_cache_configurator.py",
        versions="SGLang 0.5.23",
        message="{asked} requests at once were asked for, and {granted} are granted: the memory that it was "
        "given holds no more",
        remedies=(
            LogRemedy(
                "See whether states or keys and values are the limit, and what grants more",
                ("sm120kit plan MODEL --check LOG",),
            ),
            LogRemedy("Make room: a higher --mem-fraction-static, a larger --tp-size"),
            LogRemedy("Ask for {granted}, so that nobody counts on more"),
        ),
    ),
    Signature(
        pattern=r"Not enough GPU memory for hybrid \(mamba/linear-attention\) state cache|state cache is too "
        r"small to serve "
        r"any requests|AssertionError: max_running_request is zero",
        rank="cause",
        example="AssertionError: max_running_request is zero",
        look_alike="max_running_requests is capped to 9 by the mamba state cache",
        source="SGLang 0.5.12: managers/tp_worker.py; 0.5.23: mem_cache/kv_cache_configurator.py",
        versions="SGLang 0.5.x",
        message="The state cache holds not even one request",
        remedies=(LogRemedy("Raise --mem-fraction-static, or use GPUs with more memory"), *_MORE),
    ),
    Signature(
        pattern=r"max_num_seqs \((?P<asked>\d+)\) exceeds available Mamba cache blocks \((?P<granted>\d+)\)",
        rank="cause",
        example="ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (939)",
        look_alike="max_num_seqs (1024) exceeds the captured batch sizes",
        source="vllm-project/recipes#831 (RTX PRO 6000 Max-Q)",
        versions="vLLM",
        message="{asked} sequences at once were asked for, and the state cache holds {granted}",
        remedies=(LogRemedy("Ask for no more", ("--max-num-seqs {granted}",)),),
    ),
]

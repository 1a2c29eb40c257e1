"""After the weights no GPU memory is left for the KV cache

## What it finds
A server that ends since --mem-fraction-static leaves nothing for the KV cache.

## Why it matters
--mem-fraction-static is the share of the memory that was free at the start which weights and KV cache may take
together. Where the weights alone need more, a smaller value makes it worse, although messages about CUDA graphs
advise one.

## How it is found
By the words of SGLang's pool configurator. 0.5.23 tells the smallest value that would do.

## Remedy
Raise --mem-fraction-static, or make the weights smaller on each GPU: quantised weights, or more GPUs by --tp-size.
Other processes on the GPU count: their memory is missing in what was free at the start.

## Sources
- SGLang 0.5.12: model_executor/pool_configurator.py; 0.5.23: mem_cache/kv_cache_configurator.py, and a run of it
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("memory.kv-cache-no-room")

_OTHERS = (
    LogRemedy(
        "See whether other processes hold memory of the GPU",
        ("nvidia-smi --query-compute-apps=pid,used_memory --format=csv",),
    ),
    LogRemedy("Need less for weights on each GPU: quantised weights, a larger --tp-size"),
)

SIGNATURES = [
    Signature(
        pattern=r"Loaded weights leave no GPU memory for the KV cache under "
        r"--mem-fraction-static=(?P<value>[\d.e-]+)\. Raise "
        r"--mem-fraction-static above (?P<least>[\d.]+)",
        rank="cause",
        example="ValueError: Loaded weights leave no GPU memory for the KV cache under "
        "--mem-fraction-static=1e-07. Raise "
        "--mem-fraction-static above 0.009 (minimum viable = 1 - available/pre = 0.0085). If using speculative "
        "decoding, "
        "draft weights are now counted.",
        look_alike="Not enough host memory for the KV cache under --hicache-ratio=2",
        source="SGLang 0.5.23 with --mem-fraction-static 0.0000001",
        versions="SGLang 0.5.23",
        message="The weights take all that --mem-fraction-static={value} allows; a KV cache needs more than {least}",
        remedies=(
            LogRemedy(
                "Raise --mem-fraction-static clearly above {least}: at that value the cache holds next to nothing"
            ),
            *_OTHERS,
        ),
    ),
    Signature(
        pattern=r"RuntimeError: Not enough memory\. Please try to increase --mem-fraction-static\.(?: Current value: "
        r"(?:\w+\.)*mem_fraction_static=(?P<mem_fraction_static>[\d.]+))?",
        rank="cause",
        example="RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: "
        "mem_fraction_static=0.5",
        look_alike="RuntimeError: Not enough memory: you tried to allocate 4096 bytes.",
        source="SGLang 0.5.12: model_executor/pool_configurator.py",
        versions="SGLang 0.5.x",
        message="The weights take all that --mem-fraction-static allows[[ (now {mem_fraction_static})]], and "
        "nothing is left for the KV cache",
        remedies=(LogRemedy("Raise --mem-fraction-static[[ above {mem_fraction_static}]]"), *_OTHERS),
    ),
    Signature(
        pattern=r"No available memory for the cache blocks|To serve at least one request with the models's max seq len",
        rank="cause",
        example="ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when "
        "initializing the engine.",
        look_alike="GPU KV cache size: 1,024 tokens",
        source="vLLM: v1/core/kv_cache_utils.py",
        versions="vLLM 0.6 and later",
        message="Too little GPU memory is left for the KV cache",
        remedies=(LogRemedy("Raise --gpu-memory-utilization, or lower --max-model-len"), *_OTHERS),
    ),
]

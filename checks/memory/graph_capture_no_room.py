"""GPU memory runs out while CUDA graphs are captured

## What it finds
A server that fails in the capture of CUDA graphs, and there for want of memory.

## Why it matters
Here the server's own advice is right: what --mem-fraction-static leaves over is what graphs and activations have. But
the same advice stands under every failure of a capture, also under kernels that do not exist for the GPU and
compilers that fail; only the words after `Capture cuda graph failed:` tell.

## How it is found
By `Capture cuda graph failed:` with words of an allocation that failed behind it.

## Remedy
Capture for smaller batches first, then lower --mem-fraction-static in steps of 0.02. Switching graphs off costs most.

## Sources
- SGLang 0.5.12: model_executor/cuda_graph_runner.py; 0.5.23: model_executor/runner/decode_cuda_graph_runner.py
- sgl-project/sglang#35777, #23769; vllm-project/vllm#57595, #51590
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("memory.graph-capture-no-room")

SIGNATURES = [
    Signature(
        pattern=r"Capture cuda graph failed: .*(?:out of memory|OutOfMemory|CUBLAS_STATUS_ALLOC_FAILED)"
        r"(?:.*Tried to allocate (?P<wanted>[\d.]+ \w+))?(?:.*of which (?P<free>[\d.]+ \w+) is free)?",
        rank="cause",
        example="Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has "
        "a total "
        "capacity of 31.84 GiB of which 1.02 GiB is free.",
        look_alike="Exception: Capture cuda graph failed: CUDA error: no kernel image is available for execution "
        "on the device",
        source="SGLang 0.5.12: model_executor/cuda_graph_runner.py; sgl-project/sglang#35777",
        versions="SGLang 0.5.x",
        message="GPU memory ran out while CUDA graphs were captured",
        remedies=(
            LogRemedy("Capture graphs for smaller batches", ("--cuda-graph-max-bs 16",), "sglang", "", "0.5.12.post1"),
            LogRemedy("Capture graphs for smaller batches", ("--cuda-graph-max-bs-decode 16",), "sglang", "0.5.13", ""),
            LogRemedy("Leave more room beside weights and KV cache: lower --mem-fraction-static in steps of 0.02"),
        ),
    ),
    Signature(
        pattern=r"Capture cuda graph failed: |Piecewise CUDA Graph failed with error",
        rank="wrapper",
        example="Exception: Capture cuda graph failed: CUDA error: an illegal memory access was encountered",
        look_alike="Capture cuda graph bs [1, 2, 4, 8]",
        source="SGLang 0.5.12: model_executor/cuda_graph_runner.py",
        versions="SGLang 0.5.x",
    ),
]

"""GPU memory runs out

## What it finds
An allocation that the GPU could not serve, at any time but the capture of CUDA graphs.

## Why it matters
The same words ask for opposite things. While weights load or the KV cache is made, too much is asked for at once.
While the server works, --mem-fraction-static left too little for activations, and it must go down, not up.

## How it is found
By the words of torch's allocator and of the CUDA runtime. They tell the sizes, and whether other processes hold memory.

## Remedy
See first whether another process holds memory of that GPU. While loading: fewer bytes on each GPU (quantised weights, a
larger --tp-size). While serving: lower --mem-fraction-static, --chunked-prefill-size or --max-running-requests.

## Sources
- torch 2.11: c10/cuda/CUDACachingAllocator.cpp; CUDA runtime: cudaErrorMemoryAllocation
- sgl-project/sglang-omni#292
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("memory.gpu-out-of-memory")

_WHO = LogRemedy(
    "See whether another process holds memory of the GPU",
    ("nvidia-smi --query-compute-apps=pid,used_memory --format=csv",),
)
_WHEN = (
    LogRemedy("If it was loading: less on each GPU, by quantised weights or a larger --tp-size"),
    LogRemedy(
        "If it was serving: lower --mem-fraction-static (in steps of 0.02), --chunked-prefill-size or "
        "--max-running-requests"
    ),
)

SIGNATURES = [
    Signature(
        pattern=r"^(?!.*Capture cuda graph failed).*CUDA out of memory\. Tried to allocate (?P<wanted>[\d.]+ \w+)\."
        r"(?: GPU (?P<gpu>\d+) has a total capacity of (?P<total>[\d.]+ \w+) of which (?P<free>[\d.]+ \w+) is free)?",
        rank="cause",
        example="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.37 GiB. GPU 0 has a total "
        "capacity of 94.97 "
        "GiB of which 1.31 GiB is free. Process 4711 has 93.64 GiB memory in use.",
        look_alike="Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 2.00 GiB.",
        source="torch 2.11: c10/cuda/CUDACachingAllocator.cpp",
        versions="torch 2.x",
        message="[[GPU {gpu} has {free} free of {total}, and {wanted} more were asked for|The GPU has no room for "
        "another {wanted}]]",
        remedies=(_WHO, *_WHEN),
    ),
    Signature(
        pattern=r"^(?!.*Capture cuda graph failed).*(?:CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY"
        r"|cudaErrorMemoryAllocation|CUBLAS_STATUS_ALLOC_FAILED)",
        rank="cause",
        example="torch.AcceleratorError: CUDA error: out of memory",
        look_alike="CUDA error: an illegal memory access was encountered",
        source="CUDA runtime: cudaErrorMemoryAllocation",
        message="The GPU has no memory left for what was asked of it",
        remedies=(_WHO, *_WHEN),
    ),
    Signature(
        pattern=r"CUDA driver error: unknown error",
        rank="consequence",
        example="RuntimeError: CUDA driver error: unknown error",
        look_alike="CUDA driver error: invalid argument",
        source="vllm-project/vllm#41619 (WSL2, RTX PRO 6000, drivers 581.80 and 596.36)",
        versions="Windows Subsystem for Linux with expandable segments",
        message="The driver refused memory without saying why; under WSL2 it does so for expandable segments",
        remedies=(
            LogRemedy(
                "Under WSL2 start without expandable segments", ("unset PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF",)
            ),
        ),
    ),
    Signature(
        pattern=r"Free memory on device (?:(?P<device>\S+) )?\((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on "
        r"startup is less than "
        r"desired GPU memory utilization \((?P<share>[\d.]+), (?P<wanted>[\d.]+) GiB\)",
        rank="cause",
        example="ValueError: Free memory on device cuda:0 (12.38/287.69 GiB) on startup is less than desired GPU "
        "memory "
        "utilization (0.92, 264.67 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        look_alike="Free memory on device cuda:0: 280.11 GiB of 287.69 GiB on startup",
        source="vLLM: v1/worker/utils.py",
        versions="vLLM 0.9 and later",
        message="vLLM wants {wanted} GiB of the GPU and {free} of {total} GiB are free: something else uses the rest",
        remedies=(_WHO, LogRemedy("Ask for less", ("--gpu-memory-utilization VALUE",))),
    ),
]

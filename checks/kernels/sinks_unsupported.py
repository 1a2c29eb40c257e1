"""The attention backend has no attention sinks, and the model needs them

## What it finds
A backend that refuses a model with attention sinks (gpt-oss).

## Why it matters
On compute capability 12.0 FlashInfer's kernels without TensorRT-LLM's have no sinks.

## How it is found
By the words of vLLM's choice of a backend.

## Remedy
Use triton for attention.

## Sources
- vllm-project/vllm#30135, #40153; flashinfer-ai/flashinfer#2847; sgl-project/sglang#9140
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("kernels.sinks-unsupported")

SIGNATURES = [
    Signature(
        pattern=r"(?P<backend>\w+): \[?'?sink setting not supported",
        rank="cause",
        example="ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for this "
        "configuration. Reason: "
        "FLASHINFER: ['sink setting not supported']",
        look_alike="Using attention sinks with TRITON_ATTN",
        source="vllm-project/vllm#40153",
        versions="vLLM",
        message="{backend} has no attention sinks on this GPU, and the model needs them",
        remedies=(LogRemedy("Use triton for attention", ("--attention-backend TRITON_ATTN",)),),
    ),
]

"""A FlashInfer module was asked for that exists for other GPUs alone

## What it finds
FlashInfer's refusal to compile a module, with the major compute capabilities for which it exists, and 12 is not among
them.

## Why it matters
The TensorRT-LLM kernels and some attention and MoE modules exist for 9.x or 10.x alone. "Blackwell" in a guide often
means B200 (10.0): what it recommends does not run on RTX PRO 6000 or RTX 5090 (12.0).

## How it is found
By the words of FlashInfer's compilation context. With 12 in the list it is the matter of `flashinfer.toolkit-too-old`.

## Remedy
Leave the choice of kernels to SGLang, or name others. A FLASHINFER_CUDA_ARCH_LIST that leaves the GPU out has the same
effect.

## Sources
- flashinfer-python 0.6.7.post2 and 0.7.2.post1: compilation_context.py (get_nvcc_flags_list)
- checks/tables/kernel_choices.toml: which kernels are made for 10.x alone
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("flashinfer.not-for-this-gpu")

SIGNATURES = [
    Signature(
        pattern=r"No supported CUDA architectures found for major versions \[(?P<majors>(?:[789]|1[01])"
        r"(?:, (?:[789]|1[01]))*)\]",
        rank="cause",
        example="RuntimeError: No supported CUDA architectures found for major versions [10].",
        look_alike="RuntimeError: No supported CUDA architectures found for major versions [9, 10, 11, 12].",
        source="flashinfer-python 0.7.2.post1: compilation_context.py",
        versions="FlashInfer 0.4 and later",
        message="A FlashInfer module was asked for that exists only for GPUs of major compute capability {majors}, and "
        "none of these is here",
        remedies=(
            LogRemedy(
                "Take these options off the launch line where they name trtllm or other kernels of B200: "
                "--attention-backend, --moe-runner-backend, --fp4-gemm-backend, --fp8-gemm-backend. SGLang then "
                "chooses",
            ),
            LogRemedy("See which of them it was", ("sm120kit doctor --model MODEL_PATH -- ARGUMENTS",)),
            LogRemedy("See that this does not leave the GPU out", ("printenv FLASHINFER_CUDA_ARCH_LIST",)),
        ),
    ),
]

"""Machine code for another chip of the family ran on this GPU

## What it finds
A kernel that stopped with an illegal instruction.

## Why it matters
Code for an architecture with the letter a (`sm_120a`) runs on exactly that compute capability. A gate that asks for the
family (12.x) lets it start on 12.1, and the chip refuses it in the middle of a kernel.

## How it is found
By the words of the CUDA runtime.

## Remedy
Use a build for this very chip (12.1a) or for the family (12.0f, from CUDA 12.9 on), or another backend for the
operation that the traceback names.

## Sources
- vllm-project/vllm#54125; FlashInfer 0.6.18: compilation_context.py; NVIDIA's blog on family-specific targets of CUDA
  12.9"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("gpu.illegal-instruction")

SIGNATURES = [
    Signature(
        pattern=r"an illegal instruction was encountered|cudaErrorIllegalInstruction|CUDA_ERROR_ILLEGAL_INSTRUCTION",
        rank="cause",
        example="torch.AcceleratorError: CUDA error: an illegal instruction was encountered",
        look_alike="CUDA error: an illegal memory access was encountered",
        source="vllm-project/vllm#54125 (compute capability 12.1)",
        message="A kernel holds an instruction that this GPU does not have: it was built for another chip of the "
        "family",
        remedies=(
            LogRemedy(
                "See for which chips the shared object in the traceback holds code", ("cuobjdump --list-elf FILE.so",)
            ),
            LogRemedy("Use a build for this chip or its family (12.0f), or another backend for that operation"),
        ),
    ),
]

"""Machine code was compiled at run time from PTX that the driver is too old for

## What it finds
The driver's refusal to compile PTX of a newer toolkit than itself.

## Why it matters
Where a library holds no machine code for the GPU, the driver compiles the PTX in it. Minor-version compatibility covers
machine code, not PTX: a driver of CUDA 13.0 reads no PTX of 13.2.

## How it is found
By the words of the CUDA runtime.

## Remedy
Update the driver to the toolkit's release or later, or build for the GPU itself (12.0a or 12.0f), so that no PTX is
needed.

## Sources
- CUDA runtime: cudaErrorUnsupportedPtxVersion; CUDA Compatibility (docs.nvidia.com/deploy/cuda-compatibility)
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("gpu.ptx-too-new")

SIGNATURES = [
    Signature(
        pattern=r"the provided PTX was compiled with an unsupported toolchain|cudaErrorUnsupportedPtxVersion"
        r"|CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        rank="cause",
        example="RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        look_alike="ptxas fatal   : Unsupported .version 9.5; current version is '9.0'",
        source="CUDA runtime: cudaErrorUnsupportedPtxVersion",
        message="The driver is older than the toolkit that wrote the PTX it was given",
        remedies=(
            LogRemedy("Update the driver to the release of the toolkit, or later", ("nvidia-smi",)),
            LogRemedy("Build machine code for this GPU: TORCH_CUDA_ARCH_LIST=12.0a, FLASHINFER_CUDA_ARCH_LIST=12.0a"),
        ),
    ),
]

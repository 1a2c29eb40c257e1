"""A kernel failed on the GPU

## What it finds
A kernel that touched memory it must not, failed an assertion of its own, or did not launch.

## Why it matters
Kernels run later than they are started, so the traceback names whoever waited next, seldom the one that failed. After
such an error the process can use the GPU no more, and every further line about it follows from the first.

## How it is found
By the words of the CUDA runtime.

## Remedy
Run once with CUDA_LAUNCH_BLOCKING=1 and without CUDA graphs: then the traceback names the kernel. If it is one of a
backend that can be chosen (attention, MoE, GEMM), choose another, and report it with that traceback.

## Sources
- CUDA runtime: cudaErrorIllegalAddress, cudaErrorAssert, cudaErrorLaunchFailure, cudaErrorMisalignedAddress
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("gpu.kernel-fault")

SIGNATURES = [
    Signature(
        pattern=r"(?P<what>an illegal memory access was encountered|device-side assert triggered|unspecified "
        r"launch failure"
        r"|misaligned address)",
        rank="cause",
        example="torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        look_alike="CUDA error: no kernel image is available for execution on the device",
        source="CUDA runtime: error strings of driver_types.h",
        message="A kernel failed on the GPU ({what}); the traceback names who waited for it, not the kernel",
        remedies=(
            LogRemedy(
                "Run once so that the traceback names the kernel",
                ("CUDA_LAUNCH_BLOCKING=1 python -m sglang.launch_server ... --disable-cuda-graph",),
            ),
            LogRemedy(
                "If it belongs to a backend that can be chosen, choose another, and report it with that traceback"
            ),
        ),
    ),
]

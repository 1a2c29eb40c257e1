"""A kernel was compiled for AMD's ROCm on a machine with NVIDIA GPUs

## What it finds
A JIT build by tvm-ffi that ran hipcc.

## Why it matters
tvm-ffi takes ROCm where /opt/rocm exists, whatever GPUs there are and however torch was built.

## How it is found
By a command line of hipcc with an AMD architecture in the output of a build.

## Remedy
Take /opt/rocm away from this machine or image, or use an apache-tvm-ffi that looks at torch first.

## Sources
- sgl-project/sglang#30120; apache/tvm-ffi#651
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("jit.rocm-picked")

SIGNATURES = [
    Signature(
        pattern=r"(?P<hipcc>\S*/hipcc)\b.* --offload-arch=(?P<arch>gfx\w+)",
        rank="cause",
        example="/opt/rocm/bin/hipcc -MMD -MF rope.o.d --offload-arch=gfx1036 -c rope.cu -o rope.o",
        look_alike="/usr/local/cuda/bin/nvcc -arch=sm_120a -c rope.cu -o rope.o",
        source="sgl-project/sglang#30120",
        versions="apache-tvm-ffi up to 0.1.9, sglang JIT",
        message="The kernel was compiled by {hipcc} for {arch}, an AMD GPU: tvm-ffi took ROCm because its folder "
        "exists",
        remedies=(
            LogRemedy("Take /opt/rocm out of this machine or image, or hide it from the server"),
            LogRemedy("Install an apache-tvm-ffi that fits the server and looks at torch first (apache/tvm-ffi#651)"),
        ),
    ),
]

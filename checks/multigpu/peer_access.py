"""GPUs cannot read each other's memory, and something that was asked for needs it

## What it finds
Peer access that the driver refuses, and SGLang's own all-reduce that steps aside for it.

## Why it matters
GeForce boards have no peer access at all; RTX PRO boards have it over PCIe. SGLang's own all-reduce needs it, and
beyond two GPUs also NVLink. Without it NCCL does the work, slower at small sizes.

## How it is found
By the words of the CUDA runtime and of SGLang's custom all-reduce.

## Remedy
Add --disable-custom-all-reduce. Boards without peer access also need NCCL_P2P_DISABLE=1 where NCCL tries it.

## Sources
- sgl-project/sglang#4814, #13016; local-inference-lab/vllm#261
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("multigpu.peer-access")

SIGNATURES = [
    Signature(
        pattern=r"peer access is not supported between these two devices|cudaErrorPeerAccessUnsupported",
        rank="cause",
        example="RuntimeError: CUDA error: peer access is not supported between these two devices",
        look_alike="peer access is enabled between devices 0 and 1",
        source="sgl-project/sglang#4814",
        message="Two GPUs cannot read each other's memory, and it was tried",
        remedies=(LogRemedy("Leave the all-reduce to NCCL", ("--disable-custom-all-reduce",)),),
    ),
    Signature(
        pattern=r"\w+ is disabled because (?:it's not supported on more than two PCIe-only GPUs|your platform "
        r"lacks GPU P2P)",
        rank="limit",
        example="CustomAllreduce is disabled because it's not supported on more than two PCIe-only GPUs. To "
        "silence this "
        "warning, specify disable_custom_all_reduce=True explicitly.",
        look_alike="CustomAllreduce is disabled because this process group spans across nodes.",
        source="SGLang 0.5.12: distributed/device_communicators/custom_all_reduce_utils.py; vLLM",
        versions="SGLang 0.5.x, vLLM",
        message="The server's own all-reduce is off, since these GPUs are connected by PCIe alone; NCCL does its "
        "work, slower for "
        "small batches",
        remedies=(
            LogRemedy("Nothing to mend; say so explicitly to have the line gone", ("--disable-custom-all-reduce",)),
        ),
    ),
]

"""A collective operation between GPUs did not end

## What it finds
NCCL's watchdog, which ends a process whose collective took longer than its timeout.

## Why it matters
One rank waits for another. If that one failed, its own log says why, and this is only what follows. If none failed,
the data does not move: on boards without NVLink, IOMMU and ACS make peer-to-peer copies hang although `nvidia-smi
topo` says OK.

## How it is found
By the words of torch's ProcessGroupNCCL. Any other fault in the log explains it and is named first.

## Remedy
Look for the first error of any rank. If there is none, start once with NCCL_P2P_DISABLE=1 and
--disable-custom-all-reduce: if that works, see `multigpu.p2p-hang-risk`.

## Sources
- torch 2.11: ProcessGroupNCCL.cpp
- local-inference-lab/rtx6kpro#15; NVIDIA/nccl#2079; vllm-project/vllm#33041
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("multigpu.collective-timeout")

SIGNATURES = [
    Signature(
        pattern=r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<number>\d+), "
        r"OpType=(?P<operation>\w+)"
        r"(?:.*Timeout\(ms\)=(?P<limit>\d+))?",
        rank="consequence",
        example="[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, "
        "NumelIn=1, "
        "NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.",
        look_alike="[Rank 1] Watchdog thread started",
        source="torch 2.11: ProcessGroupNCCL.cpp",
        versions="torch 2.x",
        message="{operation} number {number} did not end within [[{limit} ms|its limit]]: a rank did not "
        "come, or its data did not move",
        remedies=(
            LogRemedy("Look at the logs of all ranks for an earlier error: that is the cause"),
            LogRemedy(
                "If none failed, try without peer-to-peer copies (slower)",
                ("NCCL_P2P_DISABLE=1 python -m sglang.launch_server ... --disable-custom-all-reduce",),
            ),
        ),
    ),
]

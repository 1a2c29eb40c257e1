"""The driver reports that a GPU failed (Xid, GSP)

## What it finds
Lines of the kernel's driver: an Xid with its number, a GSP that does not answer, a GPU that fell off the bus.

## Why it matters
After most of these the GPU works again only after a reset or a reboot, whatever software does. On RTX PRO 6000 and
RTX 5090 heartbeats of the GSP were lost under sustained inference with several drivers.

## How it is found
By the driver's lines in the kernel's log (dmesg, journalctl -k), where the log given here holds them, and by the
errors of CUDA that come with them.

## Remedy
Look up the number in NVIDIA's list of Xids. 79 and 119: power, cooling and seating of the card, the driver's release,
then a reboot. 13, 31 and 43 are faults of a program. 48, 63, 64, 94 and 95: memory errors, the card may need
replacement.

## Sources
- NVIDIA: XID Errors (docs.nvidia.com/deploy/xid-errors)
- NVIDIA/open-gpu-kernel-modules#1159, #1111, #1200, #1151, #1045
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("gpu.xid")

_REBOOT = LogRemedy("See all of them with their times, then reset or reboot", ("journalctl -k | grep -E 'NVRM|Xid'",))

SIGNATURES = [
    Signature(
        pattern=r"NVRM: Xid \(PCI:(?P<bus>[\w:.]+)\): (?P<number>(?!13,|31,|43,|45,)\d+),",
        rank="cause",
        example="NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        look_alike="NVRM: Xid (PCI:0000:01:00): 13, pid=4711, name=python, Graphics SM Warp Exception",
        source="NVIDIA/open-gpu-kernel-modules#1151",
        message="The driver reports Xid {number} for the GPU at {bus}: the card, its power, its bus or the driver "
        "failed",
        remedies=(_REBOOT, LogRemedy("Look up {number} in NVIDIA's list: docs.nvidia.com/deploy/xid-errors")),
    ),
    Signature(
        pattern=r"NVRM: Xid \(PCI:(?P<bus>[\w:.]+)\): (?P<number>13|31|43|45),",
        rank="consequence",
        example="NVRM: Xid (PCI:0000:01:00): 31, pid=4711, name=python, Ch 00000008, intr 00000000. MMU Fault: "
        "ENGINE GRAPHICS",
        look_alike="NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        source="NVIDIA: XID Errors",
        message="The driver reports Xid {number} for the GPU at {bus}: a program's kernel failed there",
        remedies=(LogRemedy("Look for the CUDA error of the process that the line names: it tells more"),),
    ),
    Signature(
        pattern=r"GSP RM heartbeat timed out|Timeout after \d+s of waiting for RPC response from GPU(?P<gpu>\d+) GSP"
        r"|GPU has fallen off the bus|GPU is lost",
        rank="cause",
        example="NVRM: _kgspIsHeartbeatTimedOut: GSP RM heartbeat timed out",
        look_alike="NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.71.05",
        source="NVIDIA/open-gpu-kernel-modules#1159 (RTX PRO 6000, SGLang, driver 595.71.05)",
        message="A GPU no longer answers its driver",
        remedies=(
            _REBOOT,
            LogRemedy("If it returns under load: lower the power limit, look at cooling, try another driver branch"),
        ),
    ),
    Signature(
        pattern=r"uncorrectable ECC error encountered|cudaErrorECCUncorrectable",
        rank="cause",
        example="torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
        look_alike="Volatile Uncorr. ECC: 0",
        source="CUDA runtime: cudaErrorECCUncorrectable",
        message="Memory of a GPU failed",
        remedies=(
            LogRemedy(
                "See which GPU and how often; reset it, and have it replaced if it returns",
                ("nvidia-smi -q -d ECC,ROW_REMAPPER",),
            ),
        ),
    ),
]

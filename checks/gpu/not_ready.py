"""A GPU is there and cannot be used yet: NVSwitch fabric, BAR, initialisation

## What it finds
A GPU that the driver could not start, or an NVSwitch system whose fabric is not up.

## Why it matters
nvidia-smi looks healthy while the fabric is down. A board whose memory window (BAR) got no room from the firmware is
on the bus and does not start.

## How it is found
By the words of the CUDA runtime and of the kernel's driver.

## Remedy
HGX and DGX: fabric manager of exactly the driver's version, and on NVLink 5 the subnet manager (nvlsm) with ib_umad and
mlx5_ib loaded. RTX cards: Above 4G Decoding and Resizable BAR in the firmware, the open kernel modules.

## Sources
- NVIDIA/gpu-operator#2781; siderolabs/extensions#717, #893 (Error 802)
- NVIDIA/open-gpu-kernel-modules#862 (RmInitAdapter)
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("gpu.not-ready")

SIGNATURES = [
    Signature(
        pattern=r"Error 802: system not yet initialized|cudaErrorSystemNotReady|CUDA_ERROR_SYSTEM_NOT_READY",
        rank="cause",
        example="RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before "
        "calling "
        "NumCudaDevices() that might have already set an error? Error 802: system not yet initialized",
        look_alike="Error 804: forward compatibility was attempted on non supported HW",
        source="NVIDIA/gpu-operator#2781 (B200)",
        message="The NVSwitch fabric of this machine is not up",
        remedies=(
            LogRemedy(
                "Fabric manager must run, in the driver's own version, and the fabric be Completed",
                ("systemctl status nvidia-fabricmanager", "nvidia-smi -q | grep -A2 Fabric"),
            ),
        ),
    ),
    Signature(
        pattern=r"NVRM: .*RmInitAdapter failed! \((?P<code>[\w:]+)\)",
        rank="cause",
        example="NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)",
        look_alike="NVRM: GPU 0000:01:00.0: initialised",
        source="NVIDIA/open-gpu-kernel-modules#862",
        message="The driver could not start a GPU ({code})",
        remedies=(
            LogRemedy("Switch on Above 4G Decoding and Resizable BAR in the firmware, and use the open kernel modules"),
        ),
    ),
    Signature(
        pattern=r"CUDA error: invalid device ordinal|cudaErrorInvalidDevice\b|Cuda failure(?: \d+)? 'invalid "
        r"device ordinal'",
        rank="cause",
        example="torch.AcceleratorError: CUDA error: invalid device ordinal",
        look_alike="CUDA error: invalid argument",
        source="CUDA runtime: cudaErrorInvalidDevice",
        message="A GPU was asked for that this process does not see",
        remedies=(
            LogRemedy(
                "Compare --tp-size, --base-gpu-id and CUDA_VISIBLE_DEVICES with the GPUs that are there",
                ("nvidia-smi -L",),
            ),
        ),
    ),
]

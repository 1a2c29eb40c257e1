"""A GPU was handed to this container without all of its device nodes: nvidia-smi works and CUDA does not

## What it finds
A container that holds some nodes of an NVIDIA GPU and lacks /dev/nvidia-uvm or /dev/nvidiactl.

## Why it matters
nvidia-smi needs /dev/nvidiactl and /dev/nvidia0 alone. CUDA opens /dev/nvidia-uvm too, and without it no process sees a
GPU: "CUDA unknown error", or `torch.cuda.is_available()` is False. LXC configurations name each node, and uvm is the
one that is forgotten; its major number also changes with each boot of the host.

## How it is found
The nodes in /dev are listed. Outside of containers the driver makes them when they are first needed, and under WSL
there is only /dev/dxg, so neither is judged. It does not apply where hardware is named by `--gpu`, nor to an unpacked
image.

## Remedy
Hand the missing nodes to the container, with the majors of the host's /proc/devices.

## Sources
- NVIDIA/nvidia-container-toolkit#290; NVIDIA/nvidia-docker#1546; NVIDIA/nvidia-container-runtime#78
- NVIDIA driver README, chapter on device nodes: nvidia-modprobe
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Manual,
    NotApplicable,
    Signature,
    Unknown,
    at,
    check,
    error,
    fact_evidence,
)
from sm120kit.diagnosis.drivers import require_own_machine
from sm120kit.diagnosis.serving import listed

SIGNATURES = [
    Signature(
        pattern=r"CUDA unknown error - this may be due to an incorrectly set up environment",
        rank="consequence",
        example="UserWarning: CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up "
        "environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after program start.",
        look_alike="CUDA error: an illegal memory access was encountered",
        source="torch/cuda/__init__.py; NVIDIA/nvidia-docker#1546",
    ),
]

_NEEDED = ("/dev/nvidiactl", "/dev/nvidia-uvm")


@check("container.device-nodes")
def device_nodes(case: Case) -> Iterator[Finding | CannotTell]:
    require_own_machine(case)
    host = case.snapshot.host
    if isinstance(host.container, Unknown) or isinstance(host.device_nodes, Unknown):
        unknown = host.container if isinstance(host.container, Unknown) else host.device_nodes
        yield CannotTell("/dev", unknown.reason if isinstance(unknown, Unknown) else "")
        return
    kind, nodes = host.container.value, host.device_nodes.value
    if kind in ("none", "wsl2"):
        raise NotApplicable("this is no container: the driver makes its nodes when they are needed")
    of_nvidia = [node for node in nodes if node.startswith("/dev/nvidia")]
    if not of_nvidia:
        raise NotApplicable("no node of an NVIDIA GPU was handed to this container")
    missing = [node for node in _NEEDED if node not in nodes]
    if missing:
        yield error(
            listed(missing),
            f"this {kind} container lacks {listed(missing)}: nvidia-smi may work, and CUDA sees no GPU",
            [at(f"there: {', '.join(of_nvidia)}", "/dev"), fact_evidence("container", host.container)],
            [_remedy(kind, missing)],
        )


def _remedy(kind: str, missing: list[str]) -> Manual:
    if kind == "lxc":
        lines = [f"lxc.mount.entry = {node} {node[1:]} none bind,optional,create=file" for node in missing]
        text = (
            "On the host, load nvidia-uvm, allow its major (see /proc/devices) and mount the nodes in the container's "
            "configuration"
        )
        return Manual(text, ("nvidia-modprobe -u -c=0", "grep nvidia /proc/devices", *lines))
    if kind in ("docker", "podman", "kubernetes"):
        return Manual(
            "Load nvidia-uvm on the host and start the container through the NVIDIA container toolkit",
            ("nvidia-modprobe -u -c=0", "docker run --gpus all IMAGE"),
        )
    return Manual("Load nvidia-uvm on the host and hand its node to the container", ("nvidia-modprobe -u -c=0",))

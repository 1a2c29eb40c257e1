"""/dev/shm is too small for NCCL: a server over several GPUs stops when its ranks connect

## What it finds
Less than 1 GiB of shared memory where several GPUs are there. Docker and Kubernetes give 64 MiB unless told otherwise.

## Why it matters
NCCL keeps buffers in /dev/shm for ranks that cannot reach each other directly. Where it is full, the server stops with
`Error while creating shared memory segment /dev/shm/nccl-…`, `No space left on device`, or a bus error.

## How it is found
The size of the mounted file system is read. It is an error where the launch line asks for tensor parallelism, a warning
where several GPUs are there and no launch line says how they are used. One GPU needs no NCCL.

## Remedy
Give the container more, or the host's.

## Sources
- NVIDIA/nccl#290, #342 (64 MiB by default), #1518; vllm-project/vllm#1710; pytorch/torchtitan#853
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Known,
    LogRemedy,
    Manual,
    NotApplicable,
    Severity,
    Signature,
    Unknown,
    at,
    check,
    finding,
)
from sm120kit.diagnosis.serving import gpu_count

_MESSAGE = "/dev/shm, which NCCL needs to connect the GPUs, is full or too small: containers get 64 MiB by default"
_ENLARGE = (
    LogRemedy(
        "In Docker or Podman: start the container with more of it, or with the host's",
        ("docker run --shm-size=16g IMAGE", "docker run --ipc=host IMAGE"),
    ),
    LogRemedy("In Kubernetes: mount an emptyDir with medium: Memory at /dev/shm"),
    LogRemedy(
        "On a host: see what fills it, files of ended servers among it, and enlarge it",
        ("df -h /dev/shm", "ls -l /dev/shm", "mount -o remount,size=16G /dev/shm"),
    ),
)

SIGNATURES = [
    Signature(
        pattern=r"Error while creating shared memory segment (?:/dev/shm/)?nccl-"
        r"|posix_fallocate failed: No space left on device",
        rank="cause",
        example="NCCL WARN Error while creating shared memory segment /dev/shm/nccl-Cn9XbH (size 9637888)",
        look_alike="OSError: [Errno 28] No space left on device: '/var/tmp/model.safetensors'",
        source="NVIDIA/nccl#342, #1518",
        message=_MESSAGE,
        remedies=_ENLARGE,
    ),
    Signature(
        pattern=r"failed to extend (?P<file>/dev/shm/\S+) to (?P<bytes>\d+) bytes",
        rank="cause",
        example="node1:15016:15201 [1] misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-YrFC5V to "
        "33030532 bytes, error: No space left on device (28)",
        look_alike="OSError: [Errno 28] No space left on device: '/srv/cache/nccl-YrFC5V'",
        source="ai-dynamo/dynamo#1408; pytorch/ci-infra#490; NCCL 2.27: misc/shmutils.cc",
        versions="NCCL 2.19 and later",
        message=_MESSAGE,
        remedies=_ENLARGE,
    ),
    Signature(
        pattern=r"NCCL WARN Call to \w+ failed ?: No space left on device",
        rank="cause",
        example="gpu2:2143:2561 [1] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on "
        "device",
        look_alike="gpu2:2143:2561 [1] NCCL WARN Call to bind failed : Address already in use",
        source="NVIDIA/nccl#290, #525",
        versions="NCCL up to 2.18",
        message=_MESSAGE,
        remedies=_ENLARGE,
    ),
]

_ENOUGH = 1 << 30
_MIB = 1 << 20


@check("container.shared-memory")
def shared_memory(case: Case) -> Iterator[Finding | CannotTell]:
    if not case.snapshot.target.live:
        raise NotApplicable("an unpacked image has no shared memory")
    size, count, host, line = case.snapshot.host.shm_size, gpu_count(case), case.snapshot.host, case.request.launch
    if line and line.tp_size < 2:
        raise NotApplicable("the launch line asks for one GPU, which needs no NCCL")
    if line is None and (count is None or count < 2):
        raise NotApplicable("fewer than two GPUs are known here, and one alone needs no NCCL")
    if isinstance(size, Unknown):
        yield CannotTell("/dev/shm", size.reason)
    elif size.value < _ENOUGH:
        kind = host.container.value if isinstance(host.container, Known) else "none"
        who = line.words("tp_size") if line else f"a server over several of the {count} GPUs"
        yield finding(
            Severity.ERROR if line else Severity.WARNING,
            "/dev/shm",
            f"/dev/shm has {size.value // _MIB} MiB: {who} needs it for NCCL and stops when its ranks connect",
            [
                at(f"{size.value // _MIB} MiB", size.source.where),
                at(line.words("tp_size"), "launch line") if line else at(f"{count} GPUs"),
            ],
            [_remedy(kind)],
        )


def _remedy(kind: str) -> Manual:
    if kind == "kubernetes":
        return Manual("Mount an emptyDir with medium: Memory at /dev/shm")
    if kind in ("docker", "podman"):
        text = "Start the container with more shared memory, or the host's"
        return Manual(text, (f"{kind} run --shm-size=16g IMAGE",))
    return Manual("Enlarge it", ("mount -o remount,size=16G /dev/shm",))

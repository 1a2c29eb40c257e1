"""A limit of the machine is reached: disk space or open files

## What it finds
A disk that is full where caches, logs or dumps are written, or more open files and sockets than the process may have.

## Why it matters
JIT caches take gigabytes, and a compilation that cannot write fails with words of the compiler. Each connection of a
client is an open file.

## How it is found
By the operating system's words: `No space left on device`, `Too many open files`.

## Remedy
Free space in, or move, the folder that the line names: FLASHINFER_WORKSPACE_BASE, TRITON_CACHE_DIR,
TORCHINDUCTOR_CACHE_DIR and TMPDIR say where caches lie. For open files raise the limit of the service (LimitNOFILE, or
ulimit -n). For /dev/shm see `container.shared-memory`.

## Sources
- errno(3): ENOSPC, EMFILE; SGLang 0.5.12: utils/common.py (set_ulimit)
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.limits-reached")

SIGNATURES = [
    Signature(
        pattern=r"^(?!.*(?:/dev/shm|posix_fallocate|shared memory|NCCL WARN)).*(?:\[Errno 28\] |: |^)No space "
        r"left on device",
        rank="cause",
        example="OSError: [Errno 28] No space left on device: '/srv/me/.cache/flashinfer/0.7.2/120f/cached_ops'",
        look_alike="Error while creating shared memory segment /dev/shm/nccl-0 (size 9637888): No space left on device",
        source="errno(3)",
        message="A disk is full",
        remedies=(
            LogRemedy(
                "See which one, and free space or move caches with FLASHINFER_WORKSPACE_BASE and TMPDIR", ("df -h",)
            ),
        ),
    ),
    Signature(
        pattern=r"\[Errno 24\] Too many open files",
        rank="cause",
        example="OSError: [Errno 24] Too many open files",
        look_alike="Fail to set RLIMIT_NOFILE: current limit exceeds maximum limit",
        source="errno(3)",
        message="The process may not open more files and sockets",
        remedies=(LogRemedy("Raise the limit of the service: LimitNOFILE=1048576 in systemd, ulimit -n in a shell"),),
    ),
]

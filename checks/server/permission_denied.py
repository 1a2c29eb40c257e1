"""The user that the server runs as may not use a file or folder

## What it finds
A program that ends since it may not write, make or read a path.

## Why it matters
Containers and units run as other users than the one who filled their caches or downloaded the model; a cache below
/root is closed to all others.

## How it is found
By the words of Python for the operating system's EACCES, where they end a program.

## Remedy
Give the path to that user, or name another one: FLASHINFER_WORKSPACE_BASE, TRITON_CACHE_DIR, TORCHINDUCTOR_CACHE_DIR,
HF_HOME and TMPDIR say where caches lie, HOME where most of them lie by default.

## Sources
- errno(3): EACCES; flashinfer-ai/flashinfer#2834; opendatahub-io/ilab-on-ocp#26
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.permission-denied")

SIGNATURES = [
    Signature(
        pattern=r"^PermissionError: \[Errno 13\] Permission denied: '(?P<path>[^']*\bflashinfer\b[^']*)'",
        rank="cause",
        example="PermissionError: [Errno 13] Permission denied: "
        "'/usr/local/lib/python3.10/dist-packages/flashinfer_cubin/cubins/flashinfer'",
        look_alike="PermissionError: [Errno 13] Permission denied: '/.cache'",
        source="flashinfer-ai/flashinfer#2834",
        message="FlashInfer may not write to {path}",
        remedies=(
            LogRemedy("See whose it is, and as whom the server runs", ("ls -ld {path}", "id")),
            LogRemedy("Name a folder of that user for its cache", ("export FLASHINFER_WORKSPACE_BASE=FOLDER",)),
        ),
    ),
    Signature(
        pattern=r"^PermissionError: \[Errno 13\] Permission denied: '(?P<path>[^']+)'",
        rank="cause",
        example="PermissionError: [Errno 13] Permission denied: '/.cache'",
        look_alike="OSError: [Errno 28] No space left on device: '/.cache'",
        source="opendatahub-io/ilab-on-ocp#26",
        message="The server's user may not use {path}",
        remedies=(
            LogRemedy("See whose it is, and as whom the server runs", ("ls -ld {path}", "id")),
            LogRemedy(
                "If it is a cache: name a folder of that user by HOME, HF_HOME, TRITON_CACHE_DIR or "
                "TORCHINDUCTOR_CACHE_DIR"
            ),
        ),
    ),
]

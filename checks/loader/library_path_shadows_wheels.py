"""LD_LIBRARY_PATH puts a CUDA library before the one that torch's wheels bring

## What it finds
A folder of LD_LIBRARY_PATH that holds a library of the same name as one of NVIDIA's wheels, in an older release.

## Why it matters
Libraries of the wheels find each other through their own search path, which the loader uses only after LD_LIBRARY_PATH.
With /usr/local/cuda-12.1/lib64 there, libcusparse of the wheels gets libnvJitLink 12.1 and importing torch ends with
`undefined symbol: __nvJitLinkCreate_12_8, version libnvJitLink.so.12`.

## How it is found
Names are compared, then releases: the wheel's by its version, the other one's by the end of its file name
(`libnvJitLink.so.12.1.105`). The same release or a newer one is silent, as in images that come with a matching toolkit.
An older libnvJitLink is an error, an older library of another kind a warning.

## Remedy
Take the folder off LD_LIBRARY_PATH for this process. A driver's folder that has to stay is kept.

## Sources
- checks/tables/wheel_libraries.toml
- pytorch/pytorch#152783, #134929, #131312, #111469; infiniflow/ragflow#4466
"""

import re
import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Manual,
    NotApplicable,
    Release,
    Severity,
    Signature,
    at,
    check,
    finding,
    read_table,
)
from sm120kit.diagnosis.wheels import WheelLibrary
from sm120kit.snapshot.types.packages import Shadow

SIGNATURES = [
    Signature(
        pattern=r"undefined symbol: __nvJitLink\w+, version libnvJitLink\.so\.\d+",
        rank="cause",
        example="ImportError: /srv/venv/lib/python3.12/site-packages/torch/lib/../../nvidia/cusparse/lib/"
        "libcusparse.so.12: undefined symbol: __nvJitLinkCreate_12_8, version libnvJitLink.so.12",
        look_alike="undefined symbol: ncclCommResume",
        source="pytorch/pytorch#152783, #134929",
    ),
]


@check("loader.library-path-shadows-wheels")
def library_path_shadows_wheels(case: Case) -> Iterator[Finding | CannotTell]:
    if not case.snapshot.loader_dirs:
        raise NotApplicable("LD_LIBRARY_PATH is not set")
    unknown = []
    for shadow in case.snapshot.shadows:
        there, own = _version_of_file(shadow), Release.parse(shadow.owner.rpartition(" ")[2])
        if there is None or own is None:
            unknown.append(shadow)
        elif there < own:
            yield _shadowed(case, shadow, there, own)
    for shadow in unknown:
        if _row(shadow):
            yield CannotTell(
                shadow.path, f"it comes before {shadow.wheel_path}, and the releases of the two cannot be compared"
            )


def _row(shadow: Shadow) -> WheelLibrary | None:
    stem = shadow.soname.partition(".so")[0]
    return next((row for row in read_table("wheel_libraries", WheelLibrary) if row.library == stem), None)


def _version_of_file(shadow: Shadow) -> Release | None:
    """``12.1`` of ``libnvJitLink.so.12.1.105``; nothing where the name ends with the major alone."""
    match = re.search(r"\.so\.(\d+\.\d[\d.]*)$", shadow.real_path)
    return Release.parse(match[1]) if match else None


def _shadowed(case: Case, shadow: Shadow, there: Release, own: Release) -> Finding:
    row = _row(shadow)
    folder = shadow.path.rpartition("/")[0]
    effect = row.breaks if row else "whatever loads it by name may miss symbols"
    return finding(
        Severity.ERROR if row else Severity.WARNING,
        shadow.path,
        f"LD_LIBRARY_PATH puts {shadow.soname} {there} of {folder} before {own} of the wheels: {effect}",
        [
            at(f"release {there}", shadow.real_path),
            at(f"release {own}", shadow.wheel_path, shadow.owner),
            at(f"{folder} in LD_LIBRARY_PATH", "LD_LIBRARY_PATH"),
            *([at("known from", row.source)] if row else []),
        ],
        [_remedy(case, folder)],
    )


def _remedy(case: Case, folder: str) -> Manual:
    kept = ":".join(each for each in case.snapshot.loader_dirs if each.rstrip("/") != folder)
    command = f"export LD_LIBRARY_PATH={shlex.quote(kept)}" if kept else "unset LD_LIBRARY_PATH"
    return Manual("Take the folder off LD_LIBRARY_PATH for this process", (command,))

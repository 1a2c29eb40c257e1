"""NCCL's library was overwritten by the wheel for another CUDA major: torch meets an NCCL that it was not built for

## What it finds
nvidia-nccl-cu12 and nvidia-nccl-cu13 in one environment, with the library that lies there written by the one that torch
does not ask for.

## Why it matters
Both wheels write `nvidia/nccl/lib/libnccl.so.2`; the one installed last wins. Where it is older than the one that torch
pins, importing torch fails with an undefined symbol such as `ncclCommResume`, `ncclAlltoAll` or `ncclMemFree`.

## How it is found
The size of the file is compared with what both RECORDs list, and torch's metadata says which version it wants. An older
one there is an error, a newer one a warning, the right one a note: removing the other wheel would take it away. One
wheel of NCCL alone is healthy, whatever its version.

## Remedy
Remove the packages that claim the file, mostly nvidia-nccl-cu12 and nvidia-nccl-cu13, then install the one that torch
pins.

## Sources
- pytorch/pytorch#186591, #176829; rwth-i6/returnn#1802; verl-project/verl#6621
- torch 2.10.0 (nvidia-nccl-cu12==2.27.5), 2.11.0 (nvidia-nccl-cu13==2.28.9), 2.14.1 (2.30.7) METADATA
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
    at,
    check,
    finding,
)
from sm120kit.diagnosis.serving import listed
from sm120kit.diagnosis.versions import older
from sm120kit.snapshot.types.packages import SharedFile

_INSTALLED = "python3 -m pip list | grep -i nccl"
_PINNED = """python3 -c "import importlib.metadata as m; print([r for r in m.requires('torch') if 'nccl' in r])\""""

SIGNATURES = [
    Signature(
        pattern=r"undefined symbol: (?P<symbol>nccl[A-Z]\w+)",
        rank="cause",
        example="undefined symbol: ncclCommResume",
        look_alike="NCCL WARN Cuda failure 'peer access is not supported between these two devices'",
        source="pytorch/pytorch#186591 (ncclCommResume), #176829; verl-project/verl#6621",
        message="The libnccl.so.2 that is loaded is older than torch needs, which calls {symbol}: another "
        "package wrote over "
        "it, or another folder comes first",
        remedies=(
            LogRemedy("See which packages hold it, and which version torch pins", (_INSTALLED, _PINNED)),
            LogRemedy(
                "Remove the NCCL packages for both majors of CUDA, as they share one folder; then install the "
                "one that torch "
                "pins",
                (
                    "python3 -m pip uninstall -y nvidia-nccl-cu12 nvidia-nccl-cu13",
                    "python3 -m pip install --no-deps PINNED",
                ),
            ),
            LogRemedy("If there is one alone: see what comes before it", ("printenv LD_LIBRARY_PATH",)),
        ),
    ),
]


@check("wheels.nccl-overwritten")
def nccl_overwritten(case: Case) -> Iterator[Finding | CannotTell]:
    installed = case.snapshot.distributions
    names = [each.name for each in installed.value] if isinstance(installed, Known) else []
    if not any(name.startswith("nvidia-nccl-cu") for name in names):
        raise NotApplicable("no wheel of NCCL is installed")
    for shared in case.snapshot.shared_files:
        if "libnccl.so" not in shared.path:
            continue
        if not shared.wanted:
            yield CannotTell(shared.path, "two wheels install it, and torch's metadata does not say which one it wants")
        elif not shared.writers:
            yield CannotTell(shared.path, "two wheels install it, and it has the size of neither")
        else:
            yield _judged(shared)


def _judged(shared: SharedFile) -> Finding:
    wanted = shared.wanted.partition(" ")
    there = next((each for each in shared.writers if each == shared.wanted), shared.writers[-1])
    version = there.partition(" ")[2]
    owners = listed(claim.owner for claim in shared.claims)
    if there == shared.wanted:
        severity, effect = Severity.NOTE, "the right one is there; removing the other would take it away"
    elif older(version, wanted[2]):
        severity, effect = (
            Severity.ERROR,
            f"the older {there} is there, torch wants {shared.wanted}: importing it fails",
        )
    else:
        severity, effect = Severity.WARNING, f"{there} is there, torch wants {shared.wanted}"
    return finding(
        severity,
        shared.path,
        f"{owners} install the same library: {effect}",
        [
            at(f"{shared.size} bytes", shared.path),
            *(at(f"lists it with {claim.size} bytes", "RECORD", claim.owner) for claim in shared.claims),
            at(f"torch requires {shared.wanted}", "torch's METADATA"),
        ],
        [
            Manual(
                "Remove both, then install the one that torch wants",
                (
                    f"pip uninstall -y {' '.join(claim.owner.partition(' ')[0] for claim in shared.claims)}",
                    f"pip install --no-deps {shared.wanted.replace(' ', '==')}",
                ),
            )
        ],
    )

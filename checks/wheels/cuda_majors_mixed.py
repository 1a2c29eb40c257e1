"""Wheels of two CUDA majors lie in one environment, and a library that torch needs is missing or is the other major's

## What it finds
NVIDIA's wheels for CUDA 12 beside those for CUDA 13 where that does harm: a library that torch asks for is nowhere, or
two wheels list one file (cuDNN, cuSPARSELt and NVSHMEM keep one path in both majors) and the other major's lies there.

## Why it matters
`pip install` of a package with another CUDA major adds its wheels beside the present ones. Most lie in folders of their
own and disturb nobody. Where both majors share a path, the wheel installed last wins, and torch loads a library that
was made for another CUDA runtime, or fails at import.

## How it is found
What torch's CUDA library asks for is read from the file and looked for as the loader would. Files that two wheels list
are told apart by their size, and the wheel that torch wants by its metadata. Both majors side by side with everything
found is a note. NCCL has a check of its own: `wheels.nccl-overwritten`.

## Remedy
Remove the wheels of the other major, then install torch's own again, since the removal takes shared files along.

## Sources
- pytorch/pytorch#186591, #176829; verl-project/verl#6621; vllm-project/vllm#36099 (both sets listed)
- nvidia-cudnn-cu12 9.10.2.21, nvidia-cudnn-cu13 9.19.0.56: both RECORDs list nvidia/cudnn/lib/libcudnn.so.9
"""

import re
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Known,
    Manual,
    NotApplicable,
    Release,
    Severity,
    Signature,
    Unknown,
    at,
    check,
    error,
    finding,
    note,
)
from sm120kit.diagnosis.alternatives import torch_release
from sm120kit.diagnosis.serving import listed
from sm120kit.diagnosis.wheels import has_cuda_torch, is_cuda_library
from sm120kit.snapshot.types.packages import Distribution, SharedFile

SIGNATURES = [
    Signature(
        pattern=r"Multiple libcudart libraries found",
        rank="cause",
        example="Multiple libcudart libraries found",
        look_alike="Preloaded CUDA runtime under /usr/local/cuda/lib64/libcudart.so.13",
        source="flashinfer requirements.txt (comment on cudnn-frontend); pytorch/pytorch#186591",
    ),
]


@check("wheels.cuda-majors-mixed")
def cuda_majors_mixed(case: Case) -> Iterator[Finding | CannotTell]:
    if not has_cuda_torch(case):
        raise NotApplicable("no torch with CUDA is installed")
    yield from _unresolved(case)
    shared = [each for each in case.snapshot.shared_files if "libnccl" not in each.path]
    yield from (_overwritten(each) for each in shared)
    foreign = _foreign(case)
    if foreign and not shared:
        torch = torch_release(case)
        yield note(
            "CUDA wheels",
            f"{len(foreign)} wheels of another CUDA major than torch's ({torch}) are installed beside it: they disturb "
            "nothing as they lie",
            [at(f"{each.name} {each.version}", each.path) for each in foreign[:3]],
            [Manual("Remove them unless another package needs them", (_uninstall(foreign),))],
        )


def _unresolved(case: Case) -> Iterator[Finding | CannotTell]:
    for each in case.snapshot.shared_objects:
        if not each.distribution.startswith("torch "):
            continue
        if isinstance(each.needed, Unknown):
            yield CannotTell(each.path, each.needed.reason)
        elif lacking := [name for name in each.missing if is_cuda_library(name)]:
            foreign = _foreign(case)
            beside = f"; beside it are wheels of another CUDA major, such as {foreign[0].name}" if foreign else ""
            yield error(
                each.distribution,
                f"{each.distribution} needs {listed(lacking)}, which is nowhere: importing it fails{beside}",
                [
                    at(f"needs {listed(lacking)}, found nowhere", each.path, each.distribution),
                    *(at(f"{other.name} {other.version}", other.path) for other in foreign[:3]),
                ],
                [_reinstall(case)],
            )


def _overwritten(shared: SharedFile) -> Finding:
    name = shared.path.rpartition("/")[2]
    owners = listed(claim.owner for claim in shared.claims)
    wrong = bool(shared.wanted and shared.writers and shared.wanted not in shared.writers)
    whose = f"it is the file of {listed(shared.writers)}" if shared.writers else "it has the size of neither"
    wanted = f", and torch wants that of {shared.wanted}" if wrong else ""
    return finding(
        Severity.ERROR if wrong else Severity.WARNING,
        shared.path,
        f"{owners} both install {name}: {whose}{wanted}",
        [
            at(f"{shared.size} bytes", shared.path),
            *(at(f"lists it with {claim.size} bytes", "RECORD", claim.owner) for claim in shared.claims),
        ],
        [_keep_one(shared)],
    )


def _keep_one(shared: SharedFile) -> Manual:
    names = [claim.owner.partition(" ")[0] for claim in shared.claims]
    kept = (shared.wanted or shared.claims[-1].owner).replace(" ", "==")
    text = "Remove both, then install the one that torch wants"
    return Manual(text, (f"pip uninstall -y {' '.join(names)}", f"pip install --no-deps {kept}"))


def _foreign(case: Case) -> list[Distribution]:
    """NVIDIA's wheels whose name carries another CUDA major than torch's."""
    torch = torch_release(case)
    known = case.snapshot.distributions
    if torch is None or not isinstance(known, Known):
        return []
    matches = [(each, re.fullmatch(r"nvidia-.+-cu(\d\d)", each.name)) for each in known.value]
    foreign = [each for each, match in matches if match and int(match[1]) != torch.major]
    runtime = case.distribution("nvidia-cuda-runtime")
    if torch.major == 12 and runtime and Release.parse(runtime.version):
        foreign.append(runtime)
    return foreign


def _uninstall(wheels: list[Distribution]) -> str:
    return f"pip uninstall -y {' '.join(each.name for each in wheels)}"


def _reinstall(case: Case) -> Manual:
    foreign = _foreign(case)
    torch = case.distribution("torch")
    again = f"pip install --force-reinstall torch=={torch.version if torch else ''}"
    text = "Remove the wheels of the other major, then install torch with its own again"
    return (
        Manual(text, (_uninstall(foreign), again))
        if foreign
        else Manual("Install torch with its wheels again", (again,))
    )

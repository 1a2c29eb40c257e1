"""Which packages would make a coherent toolkit where none is on disk: exact versions that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.releases import Release
from sm120kit.diagnosis.remedies import ToolkitRelease, toolkit_release
from sm120kit.diagnosis.tables import read_table
from sm120kit.repair.compose import lost_headers, unfit_for_nvcc, whole_cccl_sources
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.toolkits import Toolkit

_WHEELS = {
    "nvcc": "nvidia-cuda-nvcc",
    "crt": "nvidia-cuda-crt",
    "cicc": "nvidia-nvvm",
    "runtime-headers": "nvidia-cuda-runtime",
    "cccl": "nvidia-cuda-cccl",
}


@dataclass(frozen=True)
class Shopping:
    """What to install, and the release that it completes."""

    release: str
    commands: tuple[str, ...]
    why: str


def what_to_install(case: Case) -> Shopping | None:
    """The fewest packages that complete one release, torch's where torch is there.

    ``None`` where wheels cannot do it: no cu12 wheel holds an nvcc, and none works where this target lies.
    """
    if unfit_for_nvcc(case.snapshot.target.path) or any(
        unfit_for_nvcc(tree.home) for tree in case.snapshot.toolkits if tree.layout == "wheel-cu13"
    ):
        return None
    torch = case.snapshot.torch
    if isinstance(torch, Known) and torch.value.cuda:
        release = Release.parse(torch.value.cuda)
        row = toolkit_release(release)
        if row is None or not row.cuda_toolkit:
            return None
        return _shopping(row, _lacking(row, case), case, f"the release that torch {torch.value.version} was built with")
    tree = _wheel_tree(case)
    present = {release for part in (tree.parts if tree else ()) if (release := Release.of(part.release))}
    whole = [row for row in read_table("toolkit_releases", ToolkitRelease) if row.cuda_toolkit]
    rows = [row for row in whole if Release.parse(row.release) in present] or whole[-1:]
    best = min(rows, key=lambda row: (len(_lacking(row, case)), "nvcc" in _lacking(row, case)))
    return _shopping(best, _lacking(best, case), case, "the release that the fewest packages complete")


def _shopping(row: ToolkitRelease, lacking: Sequence[str], case: Case, why: str) -> Shopping:
    versions = {"nvcc": row.nvcc, "crt": row.nvcc, "cicc": row.nvcc, "runtime-headers": row.runtime}
    if not lacking or "nvcc" in lacking or len(lacking) > 2:
        # nvidia-cuda-nvcc asks for its companions without a version, so that pip would mix releases.
        again = "--force-reinstall " if any(part in versions and _is_damaged(part, case) for part in lacking) else ""
        return Shopping(row.release, (f'pip install {again}"cuda-toolkit[nvcc,cccl]=={row.cuda_toolkit}"',), why)
    names = [f"{_WHEELS[part]}=={versions.get(part, row.cccl_package)}" for part in lacking]
    # pip leaves a wheel be whose version is there, whatever became of its files.
    again = "--force-reinstall --no-deps " if any(_is_damaged(part, case) for part in lacking) else ""
    return Shopping(row.release, (f"pip install {again}{' '.join(names)}",), why)


def _is_damaged(name: str, case: Case) -> bool:
    """Whether the wheel that brings this part is there, and files of it were overwritten or are gone."""
    tree = _wheel_tree(case)
    part = tree.part(name) if tree else None
    return tree is not None and part is not None and (part.altered or bool(lost_headers(part, tree)))


def _lacking(row: ToolkitRelease, case: Case) -> list[str]:
    """Parts that the wheels of this target do not have in the release of ``row``."""
    release = Release.parse(row.release)
    tree = _wheel_tree(case)
    lacking = []
    for name in ("nvcc", "crt", "cicc", "runtime-headers"):
        part = tree.part(name) if tree else None
        if part is None or _is_damaged(name, case) or Release.of(part.release) != release:
            lacking.append(name)
    if not any(True for _ in whole_cccl_sources([tree] if tree else [], case)):
        lacking.append("cccl")
    return lacking


def _wheel_tree(case: Case) -> Toolkit | None:
    return next((tree for tree in case.snapshot.toolkits if tree.layout == "wheel-cu13"), None)

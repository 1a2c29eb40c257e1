"""The ptxas that Triton runs: its own, unless that one does not know this GPU and the toolkit's does."""

from __future__ import annotations

from collections.abc import Iterator

from sm120kit.diagnosis import Case, Known, Release, read_table
from sm120kit.diagnosis.architectures import release_supports
from sm120kit.diagnosis.tables import Row
from sm120kit.environment.home import Home
from sm120kit.environment.types import Variable


class TritonPtxas(Row, frozen=True, kw_only=True):
    """What one Triton release brings for GPUs from compute capability 10.0 on."""

    since: str
    variable: str
    """The variable that names another ptxas for these GPUs; empty where no shell can set one."""
    ptxas: str
    """Release of the bundled one."""
    capabilities: tuple[str, ...]
    """Those whose ``a`` target the bundled one knows."""
    newest_major: int = 0
    """Newest CUDA major that this Triton can take a ptxas from; 0 = no limit."""


def triton_variables(case: Case, home: Home) -> Iterator[Variable]:
    """TRITON_PTXAS_PATH or TRITON_PTXAS_BLACKWELL_PATH, whichever the installed Triton reads."""
    capabilities, triton = case.compute_capabilities, case.distribution("triton")
    if triton is None or not isinstance(capabilities, Known):
        return
    row = _row(triton.version)
    if row is None or not row.variable:
        return
    missing = [each for each in capabilities.value if _blackwell(each) and each not in row.capabilities]
    own = home.toolkit.part("ptxas") if home.toolkit else None
    release = Release.of(own.release) if own else None
    if not missing or release is None or not all(release_supports(release, f"{each}a") for each in missing):
        return
    if row.newest_major and release.major > row.newest_major:
        return
    yield Variable(
        row.variable,
        "set",
        f"Triton {triton.version} brings ptxas {row.ptxas}, which does not know compute capability "
        f"{' and '.join(missing)}; this one is of release {release}. This is the variable that this Triton reads for "
        "such GPUs.",
        f"{home.path}/bin/ptxas",
    )


def _row(version: str) -> TritonPtxas | None:
    from packaging.version import InvalidVersion, Version

    try:
        installed = Version(version)
    except InvalidVersion:
        return None
    rows = [row for row in read_table("triton_ptxas", TritonPtxas) if Version(row.since) <= installed]
    return max(rows, key=lambda row: Version(row.since), default=None)


def _blackwell(capability: str) -> bool:
    return int(capability.partition(".")[0]) >= 10

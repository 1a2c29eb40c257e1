"""The ptxas that Triton runs: its own, unless that one does not know this GPU and the toolkit's does."""

from __future__ import annotations

from collections.abc import Iterator

from sm120kit.diagnosis import Case, Known, Release
from sm120kit.diagnosis.architectures import release_supports
from sm120kit.diagnosis.triton import is_blackwell, triton_ptxas
from sm120kit.environment.home import Home
from sm120kit.environment.types import Variable


def triton_variables(case: Case, home: Home) -> Iterator[Variable]:
    """TRITON_PTXAS_PATH or TRITON_PTXAS_BLACKWELL_PATH, whichever the installed Triton reads."""
    capabilities, triton = case.compute_capabilities, case.distribution("triton")
    if triton is None or not isinstance(capabilities, Known):
        return
    row = triton_ptxas(triton.version)
    if row is None or not row.variable:
        return
    missing = [each for each in capabilities.value if is_blackwell(each) and each not in row.capabilities]
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

"""The ptxas that each Triton brings, and the variable that names another one."""

from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.versions import older


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


def triton_ptxas(version: str) -> TritonPtxas | None:
    """The row of that version; ``None`` where it is older than all of them or is no version."""
    rows = [row for row in read_table("triton_ptxas", TritonPtxas) if older(version, row.since) is False]
    return rows[-1] if rows else None


def is_blackwell(compute_capability: str) -> bool:
    """Whether Triton takes its ptxas for Blackwell: from compute capability 10.0 on."""
    return int(compute_capability.partition(".")[0]) >= 10

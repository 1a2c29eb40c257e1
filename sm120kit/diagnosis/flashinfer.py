"""What FlashInfer asks for, by version: the table of its rules."""

from typing import Literal

from sm120kit.diagnosis.releases import Release
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.versions import older


class FlashinferRule(Row, frozen=True, kw_only=True):
    """How FlashInfer behaves from one version on, until the next row."""

    since: str
    floor_12_0: str
    """Oldest CUDA release that it takes for compute capability 12.0; empty where it leaves that to the compiler."""
    floor_12_1: str
    adds_suffix: bool
    """Whether an entry of FLASHINFER_CUDA_ARCH_LIST without a letter gets ``a`` or ``f``."""
    companions: Literal["refused", "ignored"]
    """What a companion package of another version meets: an exception at import, or a warning."""

    def floor(self, compute_capability: str) -> Release | None:
        """The oldest CUDA release for ``12.0`` or ``12.1``; ``None`` where there is none."""
        floors = {"12.0": self.floor_12_0, "12.1": self.floor_12_1}
        return Release.parse(floors.get(compute_capability, ""))


def flashinfer_rule(version: str) -> FlashinferRule | None:
    """The row of that version; ``None`` where it is older than all of them or is no version."""
    rows = [row for row in read_table("flashinfer_rules", FlashinferRule) if older(version, row.since) is False]
    return rows[-1] if rows else None

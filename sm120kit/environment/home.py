"""Which toolkit the environment points at, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass

from sm120kit.diagnosis import Case, Release
from sm120kit.snapshot.types.toolkits import Toolkit


@dataclass(frozen=True)
class Home:
    """The folder that CUDA_HOME will name. ``toolkit`` is ``None`` where the snapshot has not seen that folder."""

    path: str
    toolkit: Toolkit | None

    @property
    def release(self) -> Release | None:
        """CUDA release of its nvcc."""
        nvcc = self.toolkit.part("nvcc") if self.toolkit else None
        return Release.of(nvcc.release) if nvcc else None


def choose_home(case: Case, cuda_home: str) -> Home | None:
    """``cuda_home`` where given, else the tree with an nvcc that the consumers most need now; ``None`` = no such
    tree."""
    if cuda_home:
        seen = (tree for tree in case.snapshot.toolkits if cuda_home in (tree.home, tree.real_home, *tree.aliases))
        return Home(cuda_home, next(seen, None))
    use = next(iter(case.toolkits), None)
    return Home(use.toolkit.home, use.toolkit) if use else None

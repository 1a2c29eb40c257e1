"""The table of torch wheels: which GPUs each holds machine code for."""

import re
from collections.abc import Iterable

from sm120kit.diagnosis.releases import Release
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.snapshot.types.packages import TorchBuild

INDEX = "https://download.pytorch.org/whl"
"""Below it lies one package index per CUDA release (``cu128``)."""


class TorchWheel(Row, frozen=True, kw_only=True):
    """The wheels of one torch series, built with one CUDA release for one kind of machine."""

    torch: str
    """Series: ``2.9``; ``*`` for any that has no row of its own."""
    version: str
    """One version of that series to install; empty for ``*``."""
    cuda: str
    machine: str
    """``x86_64`` or ``aarch64``."""
    architectures: tuple[str, ...]
    """Machine code it holds: ``120`` runs on 12.0 and 12.1, ``120a`` on 12.0 alone, ``120f`` on both."""

    @property
    def index(self) -> str:
        """The package index that has it."""
        return f"{INDEX}/cu{self.cuda.replace('.', '')}"

    def runs_on(self, compute_capability: str) -> bool:
        """Whether some of its code runs on a GPU of that compute capability (``12.0``)."""
        return any(_runs_on(architecture, compute_capability) for architecture in self.architectures)


def official_version(build: TorchBuild) -> str:
    """The version without its local tag where this looks like a wheel of PyPI or of torch's own index; else empty.

    NVIDIA's containers and builds from source have other tags (``2.9.0a0+nv25.10``, ``2.9.0+git…``).
    """
    match = re.fullmatch(r"(\d+\.\d+\.\d+)(?:\+cu\d+)?", build.version)
    return match[1] if match else ""


def wheel_of(build: TorchBuild, machine: str) -> TorchWheel | None:
    """The row of this build, or ``None`` where the table does not know it."""
    version = official_version(build)
    rows = [row for row in read_table("torch_wheels", TorchWheel) if (row.cuda, row.machine) == (build.cuda, machine)]
    series = version.rpartition(".")[0]
    return next((row for name in (series, "*") for row in rows if version and row.torch == name), None)


def wheels_for(compute_capabilities: Iterable[str], machine: str) -> list[TorchWheel]:
    """The rows whose wheels run on all of these GPUs, oldest series first."""
    wanted = list(compute_capabilities)
    fitting = [
        row
        for row in read_table("torch_wheels", TorchWheel)
        if row.machine == machine and row.version and all(row.runs_on(each) for each in wanted)
    ]
    return sorted(fitting, key=lambda row: (Release.parse(row.torch), Release.parse(row.cuda)))


def _runs_on(architecture: str, compute_capability: str) -> bool:
    match = re.fullmatch(r"(\d+)(\d)([af]?)", architecture)
    wanted = Release.parse(compute_capability)
    if match is None or wanted is None or int(match[1]) != wanted.major:
        return False
    return int(match[2]) == wanted.minor if match[3] == "a" else int(match[2]) <= wanted.minor

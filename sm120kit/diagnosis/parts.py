"""What a toolkit consists of, and which of it is missing."""

from typing import Literal

from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.snapshot.types.toolkits import Toolkit


class ToolkitPart(Row, frozen=True, kw_only=True):
    """One component that a whole toolkit has, and the packages that bring it."""

    part: str
    """Name of the component in a snapshot (``cicc``)."""
    title: str
    """The component in words."""
    needed_for: Literal["compile", "link", "others"]
    """What stops without it: every ``nvcc -c``, only nvcc as linker, or only other tools that read the tree."""
    wheel: str
    wheel_as: Literal["nvcc", "runtime"]
    """Whose version of the release this wheel has."""
    apt: str
    """Package in NVIDIA's repository, before its ``-MAJOR-MINOR``."""
    apt_12: str = ""
    """The same in CUDA 12, where it was called otherwise."""
    conda: str
    failure: str
    """The line that shows when it is missing."""


def missing_parts(toolkit: Toolkit) -> tuple[ToolkitPart, ...]:
    """The components that a whole toolkit has and this one has not, those first that every compile needs."""
    rows = read_table("toolkit_parts", ToolkitPart)
    missing = [row for row in rows if toolkit.part(row.part) is None]
    return tuple(sorted(missing, key=lambda row: row.needed_for != "compile"))

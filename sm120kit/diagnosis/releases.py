"""CUDA releases as values: ``major.minor``, the part in which healthy components agree."""

from __future__ import annotations

import re

import msgspec

from sm120kit.snapshot.facts import Fact, Known
from sm120kit.snapshot.types.toolkits import Toolkit


class Release(msgspec.Struct, frozen=True, order=True):
    """A CUDA release. Patch levels differ inside one healthy release, so they are left out."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @classmethod
    def parse(cls, text: str) -> Release | None:
        """Read ``13.0``, ``13.0.88``, ``V12.8.93`` or ``13``; ``None`` where no number leads."""
        match = re.match(r"\s*[vV]?(\d{1,4})(?:\.(\d{1,4}))?", text)
        return cls(int(match[1]), int(match[2] or 0)) if match else None

    @classmethod
    def of(cls, fact: Fact[str]) -> Release | None:
        """The release that a fact tells, or ``None`` where it is unknown or no number."""
        return cls.parse(fact.value) if isinstance(fact, Known) else None


def part_release(toolkit: Toolkit, name: str) -> Release | None:
    """The release of one part of a toolkit; ``None`` where the part is absent or its release unknown."""
    part = toolkit.part(name)
    return Release.of(part.release) if part else None

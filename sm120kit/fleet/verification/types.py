"""What is verified, and what came of it."""

from __future__ import annotations

import msgspec

from sm120kit.fleet.spec import Expectation, Gpu
from sm120kit.fleet.types import LEVELS, Level, ProcessId, Struct, Verdict

NAMES = (
    "port-owner",
    "model",
    "generation",
    "thinking",
    "configuration",
    "concurrency",
    "memory",
    "load",
    "throughput",
)
"""The verdicts, in the order in which they build on one another."""

_FROM_LEVEL: dict[str, Level] = {"thinking": "standard", "load": "standard", "throughput": "load"}
"""From which level on a verdict is asked for; the others at every level."""

NEEDED = ("model", "generation", "configuration", "concurrency")
"""Those without which nothing counts as verified; the port's owner too where the server is ours."""


class Subject(Struct, frozen=True):
    """One server to verify."""

    index: int
    url: str
    """Its address, as ``http://127.0.0.1:30000``."""
    requested: int | None = None
    """``--max-running-requests`` of its launch line; ``None`` = its own record of it is taken."""
    expected: Expectation | None = None
    root: ProcessId | None = None
    """The process that must own the port, with all that it started; ``None`` = it is not ours."""
    port: int = 0
    """The one that must be its own; 0 = that of its address."""
    gpus: tuple[Gpu, ...] = ()
    """With what they held before it started; empty = it runs on the CPU, or nobody knows where."""
    served_model_name: str = ""
    """Empty = any."""
    model: str = ""
    """``--model-path``; empty = any."""


class Sisters(Struct, frozen=True):
    """What servers on like GPUs gave when they were verified."""

    answer: str = ""
    """The text that was generated."""
    configuration: dict[str, str] = msgspec.field(default_factory=dict)
    """Settings as JSON, by their path."""
    footprints: tuple[int, ...] = ()
    """Bytes that each of them held on each GPU."""
    tokens_per_second: tuple[float, ...] = ()


class Reference(Struct, frozen=True):
    """What servers that were verified before gave: a single one is held against it when it is verified again."""

    by_kind: dict[str, Sisters] = msgspec.field(default_factory=dict)
    """By GPU and version of SGLang."""

    def of(self, kind: str) -> Sisters:
        """That of one kind; empty where none of it was verified."""
        return self.by_kind.get(kind, Sisters())


class ReplicaOutcome(Struct, frozen=True):
    """What came of one server."""

    index: int
    verdicts: tuple[Verdict, ...] = ()
    granted: int | None = None
    tokens_per_second: float | None = None
    """Under load, while the others were under load too."""
    roofline_share: float | None = None
    memory_used: int | None = None
    """Bytes in use on its GPUs, whoever uses them."""
    verified: bool = False
    requested: int | None = None
    """``--max-running-requests`` of its launch line, else what it says of it itself."""
    is_stand_in: bool = False
    """It says of itself that it is one of a rehearsal."""


class Outcome(Struct, frozen=True):
    """What came of all of them."""

    level: Level
    replicas: tuple[ReplicaOutcome, ...]
    reference: Reference
    tokens_per_second: float | None = None
    """In sum."""

    @property
    def verified(self) -> bool:
        """Whether each of them is, and there is at least one."""
        return bool(self.replicas) and all(each.verified for each in self.replicas)


def asked_at(level: Level) -> tuple[str, ...]:
    """The verdicts of a level, but for the port's owner, which is asked for where the server is ours."""
    return tuple(
        name
        for name in NAMES
        if name != "port-owner" and LEVELS.index(_FROM_LEVEL.get(name, "quick")) <= LEVELS.index(level)
    )


def is_verified(verdicts: tuple[Verdict, ...], level: Level, *, ours: bool) -> bool:
    """Whether these verdicts together make a server count."""
    passed = {each.name for each in verdicts if each.passed}
    needed = {*NEEDED, *(("port-owner",) if ours else ()), *(("load",) if level == "load" else ())}
    return needed <= passed and all(each.passed is not False for each in verdicts)

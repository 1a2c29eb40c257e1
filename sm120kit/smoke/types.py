"""What a smoke test came to, as plain data. Every output format is made from :class:`SmokeReport`."""

from __future__ import annotations

from typing import Literal

import msgspec

from sm120kit.diagnosis.types import ProofReport, Report
from sm120kit.fleet.types import Fleet

SCHEMA = "sm120kit.smoke/1"

Level = Literal["static", "prove", "serve"]
"""How far a smoke test goes; each level takes in the one before."""

StepOutcome = Literal["passed", "failed", "unknown"]


class Struct(msgspec.Struct, frozen=True):
    """Base of all data of this room."""


class Step(Struct, frozen=True):
    """One step. ``reason`` is a sentence without its full stop; ``seconds`` is wall time."""

    name: Level
    outcome: StepOutcome
    reason: str
    seconds: float


class SmokeReport(Struct, frozen=True):
    """The whole of one smoke test."""

    schema: str
    tool_version: str
    level: Level
    target: str
    """One sentence: which target, and why that one."""
    outcome: StepOutcome
    """``failed`` if a step failed; else ``unknown`` if one could not tell, which fails nothing by itself."""
    seconds: float
    steps: tuple[Step, ...]
    report: Report
    """What the doctor says: the step ``static``."""
    proofs: tuple[ProofReport, ...] = ()
    """One for each toolkit that was proved: the step ``prove``."""
    fleet: Fleet | None = None
    """The server that was started, as it was judged: the step ``serve``."""

"""What became of each proof of a toolkit, as plain data: made by the proof room, judged by checks."""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "sm120kit.proof/1"

Outcome = Literal["passed", "failed", "not-run"]


class Struct(msgspec.Struct, frozen=True):
    """Base of all proof data."""


class Proof(Struct, frozen=True):
    """One rung with its outcome."""

    rung: str
    consumers: tuple[str, ...]
    shows: str
    outcome: Outcome
    command: str
    error: str = ""
    """The first true error line, not its wrapper's."""
    check: str = ""
    """The check whose signature explains that line."""
    reason: str = ""
    """Why it was not run."""
    seconds: float = 0.0
    cached: bool = False


class ProofReport(Struct, frozen=True):
    """All proofs of one toolkit."""

    schema: str
    tool_version: str
    cuda_home: str
    architecture: str
    """What was compiled for (``sm_120a``; several with commas), and in ``architecture_why`` why that."""
    architecture_why: str
    proofs: tuple[Proof, ...]

    @property
    def passed(self) -> bool:
        """Whether something was run and nothing failed."""
        outcomes = {proof.outcome for proof in self.proofs}
        return "failed" not in outcomes and "passed" in outcomes

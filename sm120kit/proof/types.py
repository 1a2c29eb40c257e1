"""What a proof is, and what became of it, as plain data."""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "sm120kit.proof/1"

Outcome = Literal["passed", "failed", "not-run"]


class Struct(msgspec.Struct, frozen=True):
    """Base of all proof data."""


class Rung(Struct, frozen=True):
    """One thing to try: a command in a scratch folder, and what it stands for.

    ``{scratch}`` in ``command`` and in ``sources`` is replaced by the folder's path when it runs.
    """

    name: str
    """``preprocess-fp16``, ``preprocess-cuda-std``, ``compile``, ``cub``, ``link``, ``load``, ``flashinfer:NAME``."""
    consumers: tuple[str, ...]
    """Whose flags these are; empty = those of a plain JIT consumer."""
    shows: str
    """What is right when it passes, in words."""
    command: tuple[str, ...]
    sources: dict[str, str] = {}
    """Files to write first: name → text."""
    limit_s: float = 120.0
    cost: float = 1.0
    """CPU seconds it takes about: the dear ones are started first."""
    needed: tuple[str, ...] = ()
    """Sonames that the linked library must ask for, as regular expressions."""
    tools: tuple[str, ...] = ()
    """Programs that take part without being named in the command; a change of one outdates a cached pass."""
    environment: dict[str, str] = {}
    """Variables set for this rung alone."""


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
    """What was compiled for (``sm_120a``), and in ``architecture_why`` why that."""
    architecture_why: str
    proofs: tuple[Proof, ...]

    @property
    def passed(self) -> bool:
        """Whether something was run and nothing failed."""
        outcomes = {proof.outcome for proof in self.proofs}
        return "failed" not in outcomes and "passed" in outcomes

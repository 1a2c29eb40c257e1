"""What is tried to prove a toolkit, as plain data. What became of it is :mod:`sm120kit.diagnosis.types`, since
checks judge by it."""

from __future__ import annotations

from typing import Literal

import msgspec

from sm120kit.diagnosis.types import PROOF_SCHEMA as SCHEMA
from sm120kit.diagnosis.types import Proof, ProofReport
from sm120kit.diagnosis.types import ProofOutcome as Outcome

__all__ = ["SCHEMA", "Outcome", "Proof", "ProofReport", "Rung"]


class Rung(msgspec.Struct, frozen=True):
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
    output: str = ""
    """The file below the scratch folder that must have been made; empty where none is."""
    holds: tuple[str, ...] = ()
    """Words that the output must contain."""
    machine_code: tuple[int, ...] = ()
    """Compute capabilities (``120``) for which the output must hold machine code."""
    needed: tuple[str, ...] = ()
    """Sonames that the linked library must ask for, as regular expressions."""
    tools: tuple[str, ...] = ()
    """Programs that take part without being named in the command; a change of one outdates a cached pass."""
    include_dirs: tuple[str, ...] = ()
    """Where its headers are looked for, in order: a header that appears in an earlier one outdates a cached pass."""
    host_compilers: tuple[Literal["nvcc", "link"], ...] = ()
    """Host compilers that it starts: the one that nvcc takes, the one that links."""
    environment: dict[str, str] = {}
    """Variables set for this rung alone."""

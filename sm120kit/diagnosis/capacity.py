"""What a server was predicted to grant, as plain data: computed by the capacity room, judged by checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sm120kit.diagnosis.registry import NotApplicable
from sm120kit.snapshot.facts import Fact

if TYPE_CHECKING:
    from sm120kit.diagnosis.case import Case

SUBJECT = "launch line"
"""What the checks of this family are about."""


class CardSize(msgspec.Struct, frozen=True):
    """GPUs of one size."""

    name: str
    number: int
    memory: int
    """Bytes, as nvidia-smi prints it; 0 = not known."""


class CapacityPrediction(msgspec.Struct, frozen=True):
    """One server before it starts, on the smallest of the GPUs. Sizes are bytes."""

    version: str
    """SGLang's."""
    formulas: str
    """Version whose formulas were used, and its wheel."""
    requested: int | None
    """``--max-running-requests``; ``None`` = not given."""
    granted: int
    best: int
    """The most that can be asked for and is granted, all else as it is; 0 = not even one."""
    tokens: int
    tokens_each: int
    """Tokens that each of the ``best`` requests may hold."""
    free_before: int
    weights: int
    draft_weights: int
    pools: int
    """States, keys and values, and states of draft tokens that are allocated."""
    graphs: int
    """SGLang's own estimate."""
    left: int
    """What stays free in the end; below 0 the graphs do not fit."""
    fraction: float
    """``--mem-fraction-static``."""
    fraction_given: bool
    explanation: str = ""
    """Why less is granted than was asked for, in numbers."""
    failure: str = ""
    """Why the server will not start; empty = it will."""
    left_to_card: tuple[str, ...] = ()
    """Settings that were not given and follow from the size of the smallest card."""
    cards: tuple[CardSize, ...] = ()
    """All GPUs, smallest first."""
    assumptions: tuple[str, ...] = ()


def prediction_of(case: Case) -> Fact[CapacityPrediction]:
    """What the server asked about will grant.

    Raises:
        NotApplicable: no launch line, no model or no GPU was given.
    """
    if case.capacity is None:
        raise NotApplicable("no launch line with a model and a GPU was given (doctor --model DIR -- SGLANG ARGS)")
    return case.capacity

"""The heart of it: from bytes left to state slots, tokens and requests, as each version computes them. Pure.

Every line follows the functions named in the formula's row, operation for operation: where SGLang rounds a floating
point number down, so does this, and the results are equal, not close.
"""

from __future__ import annotations

import msgspec

from sm120kit.capacity.formulas import Formula

FEWEST_ESTIMATED = 2048
MOST_ESTIMATED = 4096
"""SGLang's own estimate of a pool's requests lies between these."""

_ESTIMATED_REQUESTS_PER_CONTEXT = 512

SLIDING_EVICTION_INTERVAL = 128
"""Default of SGLANG_SWA_EVICTION_INTERVAL (environ.py of sglang 0.5.23)."""


class Asked(msgspec.Struct, frozen=True):
    """What the calculation is given beside the bytes; settings already resolved."""

    requested: int | None
    """``--max-running-requests``; ``None`` = not given."""
    context: int
    bytes_per_token: int
    """In the full-attention pool, drafting included where the version counts it there."""
    page_size: int = 1
    most_tokens: int | None = None
    """``--max-total-tokens``."""
    bytes_per_state: int = 0
    """0 = the model keeps no states."""
    slots_per_request: int = 1
    state_share: float = 0.9
    """``--mamba-full-memory-ratio``: bytes of states for each byte of keys and values."""
    slots: int | None = None
    """``--max-mamba-cache-size``."""
    radix: bool = True
    draft_tokens: int = 0
    """States that one request needs for drafting; 0 = no drafting."""
    sliding_bytes_per_token: int = 0
    sliding_share: float = 0.8
    """``--swa-full-tokens-ratio``."""
    sliding_tokens: int | None = None
    """Size of the sliding pool where it follows the requests (:func:`sliding_tokens_for`)."""


class Pools(msgspec.Struct, frozen=True):
    """What one server gets. With ``failure`` it does not start, and the counts are what it would have computed."""

    granted: int
    tokens: int
    slots: int
    """State slots; 0 for a model without states."""
    speculative_reserve: int
    """Bytes set aside for the states of draft tokens before the rest was shared out."""
    sliding_tokens: int = 0
    failure: str = ""
    """Why the server would not start, as a sentence without full stop."""


def size_pools(formula: Formula, asked: Asked, rest: float) -> Pools:
    """Share out ``rest`` bytes: what is free after loading, less what the fraction leaves alone."""
    slots, reserve = 0, 0
    if asked.bytes_per_state:
        slots, reserve, rest = _states(formula, asked, rest)
    tokens, sliding = _tokens(asked, int(rest) if rest > 0 else 0)
    granted = _granted(formula, asked, tokens)
    if asked.bytes_per_state:
        granted = min(granted, slots // asked.slots_per_request)
    failure = ""
    if asked.bytes_per_state and slots <= 0:
        failure = "no memory is left for even one state"
    elif tokens <= 0:
        failure = "no memory is left for keys and values"
    elif granted <= 0:
        failure = f"{slots} states serve no request: each is counted {asked.slots_per_request}"
    return Pools(0 if failure else granted, max(tokens, 0), max(slots, 0), reserve, max(sliding, 0), failure)


def _states(formula: Formula, asked: Asked, rest: float) -> tuple[int, int, float]:
    """Slots, the reserve for drafting, and what is left for keys and values."""
    requested, draft, size = asked.requested or 0, asked.draft_tokens, asked.bytes_per_state
    padding = formula.padding_slots
    reserve = 0
    if draft and formula.speculative_reserve == "requested":
        reserve = size * requested * draft
        rest -= reserve
    if asked.slots is not None:
        slots = asked.slots
    elif not asked.radix and asked.requested is not None:
        slots = requested
    else:
        budget = rest * asked.state_share / (1 + asked.state_share)
        if draft and formula.speculative_reserve == "granted":
            each = size * (1 + draft / asked.slots_per_request)
            slots = int((budget - size * (1 + draft) * padding) // each)
        else:
            slots = int((budget - size * padding) // size)
    if draft and formula.speculative_reserve == "granted":
        reserve = size * (min(requested, slots // asked.slots_per_request) + padding) * draft
        rest -= reserve
    return slots, reserve, rest - (slots + padding) * size


def _tokens(asked: Asked, available: int) -> tuple[int, int]:
    """Tokens of the full pool and of the sliding one, in whole pages."""
    page = asked.page_size
    if not asked.sliding_bytes_per_token:
        tokens, sliding = available // asked.bytes_per_token // page * page, 0
    elif asked.sliding_tokens is not None:
        sliding = -(-asked.sliding_tokens // page) * page
        left = available - sliding * asked.sliding_bytes_per_token
        tokens = left // asked.bytes_per_token // page * page
    else:
        each = asked.bytes_per_token + asked.sliding_share * asked.sliding_bytes_per_token
        tokens = int(available // each) // page * page
        sliding = int(tokens * asked.sliding_share) // page * page
    if asked.most_tokens is not None and asked.most_tokens < tokens:
        tokens = asked.most_tokens // page * page
        if asked.sliding_tokens is not None:
            sliding = min(sliding, asked.most_tokens)
        elif sliding:
            sliding = int(tokens * asked.sliding_share) // page * page
    return tokens, sliding


def _granted(formula: Formula, asked: Asked, tokens: int) -> int:
    estimate = int(tokens / asked.context * _ESTIMATED_REQUESTS_PER_CONTEXT)
    estimate = max(min(estimate, MOST_ESTIMATED), FEWEST_ESTIMATED)
    if asked.requested is None:
        return min(estimate, tokens // 2)
    return min(asked.requested, estimate if formula.request_limit == "estimate" else tokens // 2)


def sliding_tokens_for(requests: int, *, window: int, page_size: int, chunk: int, overlap: bool) -> int:
    """Tokens of a sliding pool that is sized by the requests: what all of them hold at worst, without drafting."""
    each = window + SLIDING_EVICTION_INTERVAL + 2 * page_size
    return each * max(1, requests) + (2 if overlap else 1) * chunk + page_size

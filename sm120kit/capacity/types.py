"""The answer of ``sm120kit plan`` as data (``sm120kit.plan/1``). Sizes are bytes."""

from __future__ import annotations

import msgspec

SCHEMA = "sm120kit.plan/1"


class Struct(msgspec.Struct, frozen=True):
    """Base of all plan data."""


class Predicted(Struct, frozen=True):
    """What the server will come to with the launch line as it is."""

    granted: int
    """Requests that it will really run at a time."""
    tokens: int
    """Tokens that its pool of keys and values holds."""
    state_slots: int
    """State slots; 0 for a model without states."""
    slots_per_request: int
    bytes_per_state: int
    bytes_per_token: int
    mem_fraction_static: float
    chunked_prefill_size: int
    largest_decode_graph: int
    tokens_each: int = 0
    """Tokens that every request is taken to hold."""
    together: int = 0
    """Granted requests of that size for which the pool has room; the others are taken back and wait."""
    failure: str = ""
    """Why it would not start; empty = it will."""
    page: str = ""
    """Where that is another reason than memory: the page on it (``sm120kit explain``)."""


class Best(Struct, frozen=True):
    """The most requests that can be asked for and are granted, all else as it is."""

    max_running_requests: int
    """0 where not even one request fits."""
    granted: int
    arguments: tuple[str, ...]
    """What to change on the launch line, ready to copy; empty = nothing."""
    tokens: int = 0
    tokens_per_request: int = 0


class Alternative(Struct, frozen=True):
    """Another way to set the server up, at its own best."""

    name: str
    arguments: tuple[str, ...]
    max_running_requests: int
    granted: int
    tokens: int
    quality_affecting: bool
    cost: str = ""


class Budget(Struct, frozen=True):
    """What becomes of one GPU's memory. The parts add up to ``free_before_loading``."""

    free_before_loading: int
    weights: int
    draft_weights: int
    state_pool: int
    kv_pool: int
    reserve: int
    """States of draft tokens that are really allocated."""
    graphs: int
    """SGLang's own estimate."""
    free: int
    """What stays: for prefill, workspaces, fragments. Below 0 the graphs do not fit."""
    short_by: int = 0
    """What a server that will not start lacks: with so much more free it would start. 0 = nothing."""
    reserved_for_drafting: int = 0
    """What the calculation sets aside for states of draft tokens; the part not allocated is in ``free``."""


class OnCards(Struct, frozen=True):
    """The servers that GPUs of one kind hold."""

    card: str
    """The smallest of a server's GPUs."""
    servers: int
    granted: int
    """By each."""
    failure: str = ""
    """Why they will not start; empty = they will."""


class Fleet(Struct, frozen=True):
    """All servers that these GPUs hold."""

    gpus: int
    servers: int
    requested: int | None
    granted: int
    best: int
    together: int = 0
    """Granted requests of the size taken for granted that have room in the pools."""
    starting: int = 0
    """Servers that will start; the numbers of requests are theirs."""
    parts: tuple[OnCards, ...] = ()
    """Kind by kind, where the GPUs are of several."""


class Roofline(Struct, frozen=True):
    """An upper bound of one GPU's decoding, never a forecast."""

    tokens_per_second: float
    requests: int
    bytes_per_step: int
    """Read (and for states also written) for one step of all requests."""
    bandwidth: int
    """Peak of the card's memory, bytes per second."""
    tokens_each: int = 0
    """Tokens that each request holds, as far as the pool reaches."""


class Point(Struct, frozen=True, array_like=True):
    """One point of the curve."""

    requested: int
    granted: int


class Difference(Struct, frozen=True):
    """One thing predicted and seen."""

    what: str
    predicted: float
    seen: float
    unit: str


class Check(Struct, frozen=True):
    """A plan beside a running server or its start-up log."""

    source: str
    differences: tuple[Difference, ...]
    verdict: str
    """One sentence: how far off, and where it comes from."""
    not_understood: tuple[str, ...] = ()
    """Lines of the log that look like a part of the start-up and are none of the known ones."""


class Plan(Struct, frozen=True):
    """One plan for one server, and for as many as the GPUs hold."""

    schema: str
    tool_version: str
    model: str
    architecture: str
    sglang: str
    formulas: str
    """Version whose formulas were used."""
    hardware: str
    requested: int | None
    """``--max-running-requests``; null = not given."""
    predicted: Predicted
    best: Best
    alternatives: tuple[Alternative, ...]
    budget: Budget
    assumptions: tuple[str, ...]
    fleet: Fleet
    unfit: str = ""
    """Why not one request of the size needed fits, as a sentence without full stop; empty = one does, or none is named.
    """
    notes: tuple[str, ...] = ()
    """What is worth knowing about the outcome."""
    roofline: Roofline | None = None
    """For what a launch puts to a server, and measures: the requests granted, at most 256, with hardly a token held."""
    rooflines: tuple[Roofline, ...] = ()
    """For one request, and for as many as have room for the tokens taken for granted."""
    curve: tuple[Point, ...] = ()
    check: Check | None = None

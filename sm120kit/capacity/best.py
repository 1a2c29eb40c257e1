"""The most requests that a server can be asked for and will grant, and what else could raise that number. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from sm120kit.capacity.formulas import Formula
from sm120kit.capacity.predict import Prediction, Server, predict
from sm120kit.capacity.settings import Settings

_MOST_SEARCHED = 1 << 20

_GAIN = 0.005
"""A larger static fraction is worth a line from here on."""


class Variant(msgspec.Struct, frozen=True):
    """One way to set a server up, with the most it grants."""

    name: str
    arguments: tuple[str, ...]
    """Changed arguments, ready to copy, ``--max-running-requests`` among them."""
    requests: int
    tokens: int
    quality: bool
    """Whether it may change what the model answers."""
    cost: str
    """What it costs, as a sentence without full stop; empty = nothing known."""


def most_requests(server: Server, tokens_each: int) -> tuple[int, Prediction]:
    """The largest number of requests that is granted when it is asked for, each holding ``tokens_each`` tokens.

    0 where not even one is. The more is asked for, the less the pools serve, so the search may halve its range.
    """

    requests = _largest(lambda asked: _grants(predict(server.asking(asked)), asked, tokens_each))
    return requests, predict(server.asking(max(requests, 1)))


def _grants(prediction: Prediction, requests: int, tokens_each: int) -> bool:
    pools = prediction.pools
    return not pools.failure and pools.granted >= requests and pools.tokens >= requests * tokens_each


def _largest(fits: Callable[[int], bool]) -> int:
    """The largest number from 1 on that fits, where all before it do; 0 where none does."""
    good, bad = 0, 1
    while bad <= _MOST_SEARCHED and fits(bad):
        good, bad = bad, bad * 2
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def alternatives(server: Server, tokens_each: int, strategy_flag: str) -> tuple[Variant, ...]:
    """Other ways to set this server up, each at its own best: the most requests first, harmless ones before others.

    ``strategy_flag``: how the version spells it, ``--mamba-scheduler-strategy`` or ``--mamba-radix-cache-strategy``.
    """
    found = {}
    for name, arguments, changed, quality, cost in _changes(server, strategy_flag):
        requests, prediction = most_requests(replace(server, settings=changed), tokens_each)
        if requests:
            asked = (*arguments, "--max-running-requests", str(requests))
            found[name] = Variant(name, asked, requests, prediction.pools.tokens, quality, cost)
    if server.geometry.state and server.settings.slots is None:
        for name, settings, arguments, cost in _strategies(server, strategy_flag):
            variant = _shared_out(replace(server, settings=settings), tokens_each, name, arguments, cost)
            if variant:
                found[variant.name] = variant
    return tuple(sorted(found.values(), key=lambda each: (-each.requests, each.quality, each.name)))


_Change = tuple[str, tuple[str, ...], Settings, bool, str]


def _changes(server: Server, strategy_flag: str) -> Iterator[_Change]:
    settings = server.settings
    if server.geometry.state and settings.state_dtype == "float32":
        yield (
            "states in bfloat16",
            ("--mamba-ssm-dtype", "bfloat16"),
            replace(settings, state_dtype="bfloat16"),
            True,
            "states are rounded at every step",
        )
    if settings.kv_dtype in ("bfloat16", "float16"):
        yield (
            "keys and values in fp8",
            ("--kv-cache-dtype", "fp8_e4m3"),
            replace(settings, kv_dtype="fp8_e4m3"),
            True,
            "keys and values are rounded; not every attention backend reads them",
        )
    for name, changed, arguments, cost in _strategies(server, strategy_flag):
        if changed != settings:
            yield name, arguments, changed, False, cost
    yield from _fractions(server)


def _strategies(server: Server, strategy_flag: str) -> Iterator[tuple[str, Settings, tuple[str, ...], str]]:
    """The strategies that this model and version take, the present one included."""
    settings = server.settings
    if not server.geometry.state:
        return
    yield "the strategy as it is", settings, (), ""
    takes_extra = server.geometry.takes_extra_buffer(server.formula)
    for strategy in server.formula.strategies:
        extra = strategy != "no_buffer"
        lazy_drafts = strategy == "extra_buffer_lazy" and settings.algorithm and not server.formula.draft_first
        if strategy == settings.strategy or (extra and (not takes_extra or not settings.radix)) or lazy_drafts:
            continue
        if not extra and settings.radix and settings.algorithm:
            continue
        overlap = extra
        cost = "" if extra else "the next step is prepared only after one has ended, and pages hold one token"
        changed = replace(settings, strategy=strategy, overlap=overlap, page_size=settings.page_size if extra else 1)
        yield f"strategy {strategy}", changed, (strategy_flag, strategy), cost
    if settings.radix:
        yield (
            "no prefix cache",
            replace(settings, strategy="no_buffer", radix=False, overlap=True),
            (strategy_flag, "no_buffer", "--disable-radix-cache"),
            "a common beginning of prompts is computed every time",
        )


def _fractions(server: Server) -> Iterator[_Change]:
    settings, defaults = server.settings, predict(server).defaults
    needed = defaults.activations + defaults.graphs + (0 if server.formula.draft_first else server.draft_weights)
    possible = int((1 - needed / server.free) * 1000) / 1000 if server.free else 0.0
    if 0 < possible < 1 and possible - defaults.fraction >= _GAIN:
        yield (
            f"a static fraction of {possible:g}",
            ("--mem-fraction-static", f"{possible:g}"),
            replace(settings, fraction=possible),
            False,
            "it leaves no more than SGLang's own estimate for prefill and graphs",
        )
    smaller = smaller_chunk(server.formula, defaults.chunk)
    if settings.fraction is None and smaller:
        yield (
            f"prefill in chunks of {smaller}",
            ("--chunked-prefill-size", str(smaller)),
            replace(settings, chunk=smaller),
            False,
            "long prompts take more steps",
        )


def smaller_chunk(formula: Formula, chunk: int) -> int:
    """What the version takes on cards of the next smaller size; 0 where there is none."""
    return max((tier.chunk for tier in formula.tiers if tier.chunk < chunk), default=0)


def _shared_out(server: Server, tokens_each: int, name: str, arguments: tuple[str, ...], cost: str) -> Variant | None:
    """As many states as the requests need and no more, the rest for keys and values: ``--max-mamba-cache-size``."""
    each = predict(server).slots_per_request

    def served(requests: int) -> Prediction:
        settings = replace(server.settings, slots=requests * each)
        return predict(replace(server, settings=settings).asking(requests))

    if not server.settings.radix:
        return None
    good = _largest(lambda requests: _grants(served(requests), requests, tokens_each))
    if not good:
        return None
    tokens = served(good).pools.tokens
    words = (*arguments, "--max-mamba-cache-size", str(good * each), "--max-running-requests", str(good))
    suffix = f" with {name}" if arguments else ""
    price = f"{tokens // good:,} tokens are left for each request"
    return Variant(
        f"states for exactly these requests{suffix}",
        words,
        good,
        tokens,
        False,
        f"{price}; {cost}" if cost else price,
    )

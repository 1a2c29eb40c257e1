"""A prediction beside what a server came to: by how much it is off, and where that comes from. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from sm120kit.capacity.memory import GIB
from sm120kit.capacity.predict import Server, predict
from sm120kit.capacity.types import Check, Difference
from sm120kit.engines.sglang.observed import Observed


def compare(server: Server, observed: Observed) -> Check:
    """Predicted and seen, number by number, and in one sentence what explains the difference."""
    return Check(
        source=observed.source,
        differences=tuple(_differences(server, observed)),
        verdict=_verdict(server, observed),
        not_understood=observed.not_understood,
    )


def with_measured(server: Server, observed: Observed) -> Server | None:
    """The same server with the free memory and the weights that its log tells; ``None`` where it tells neither."""
    before, after = observed.free_before, observed.free_after
    if before is None or after is None:
        return None
    return replace(server, free=before, weights=before - after, draft_weights=0)


def _differences(server: Server, observed: Observed) -> Iterator[Difference]:
    prediction = predict(server)
    pools = prediction.pools
    counts = (
        ("requests granted", pools.granted, observed.granted, "requests"),
        ("tokens", pools.tokens, observed.tokens, "tokens"),
        ("state slots", pools.slots, observed.state_slots if prediction.bytes_per_state else None, "slots"),
    )
    for what, predicted, seen, unit in counts:
        if seen is not None:
            yield Difference(what, predicted, seen, unit)
    sizes = (
        ("free before loading", server.free, observed.free_before),
        ("weights", server.weights, observed.weights),
        ("state pool", prediction.state_pool, observed.state_pool),
        ("pool of keys and values", prediction.kv_pool, observed.kv_pool),
        ("graphs", prediction.defaults.graphs, observed.graphs),
    )
    for what, size, seen_size in sizes:
        if seen_size is not None:
            yield Difference(what, round(size / GIB, 2), round(seen_size / GIB, 2), "GiB")


def _verdict(server: Server, observed: Observed) -> str:
    if observed.failure:
        ours = predict(server).pools.failure
        return f"it did not start: {observed.failure}" + (f"; predicted too: {ours}" if ours else "; not predicted")
    if observed.granted is None:
        return "it does not say how many requests it runs"
    prediction = predict(server)
    granted = prediction.pools.granted
    same = granted == observed.granted
    text = f"granted {observed.granted}, " + ("as predicted" if same else f"predicted {granted}")
    if observed.tokens:
        off = (prediction.pools.tokens - observed.tokens) / observed.tokens
        text += f"; tokens {'as predicted' if not off else f'{off:+.1%} off'}"
        if off:
            text += _where(server, observed)
    return text


def _where(server: Server, observed: Observed) -> str:
    """Which of the inputs was off: with the measured ones the formula alone is left."""
    measured = with_measured(server, observed)
    if measured is None or not observed.tokens:
        return ""
    baseline, weights = server.free - measured.free, server.weights - measured.weights
    left = (predict(measured).pools.tokens - observed.tokens) / observed.tokens
    return (
        f": {baseline / GIB:+.2f} GiB in what was free before loading, {weights / GIB:+.2f} GiB in the weights; with "
        f"the measured ones the pool is {left:+.1%} off"
    )

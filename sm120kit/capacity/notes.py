"""What is worth knowing about a plan's outcome, as sentences without full stop. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from sm120kit.capacity.defaults import STEPS_MIB, Defaults, resolve_defaults
from sm120kit.capacity.machine import Machine
from sm120kit.capacity.memory import GIB
from sm120kit.capacity.predict import Prediction, Server
from sm120kit.capacity.settings import Settings
from sm120kit.capacity.types import Best


def run_together(prediction: Prediction, tokens_each: int) -> int:
    """Requests of this size that run at a time and stay."""
    return min(prediction.pools.granted, prediction.pools.tokens // tokens_each)


def notes_of(server: Server, machine: Machine, prediction: Prediction, best: Best, tokens_each: int) -> tuple[str, ...]:
    """Why fewer are granted than were asked for, what does not fit, and what the sizes of the cards decide."""
    pools = prediction.pools
    if prediction.page:  # what stops it has nothing to do with memory
        return ()
    notes = []
    requested = server.settings.requested
    if requested is not None and not pools.failure and pools.granted < requested and best.max_running_requests:
        notes.append(_shortfall(server, prediction, best))
    needed = pools.granted * tokens_each
    if not pools.failure and needed > pools.tokens:
        notes.append(_crowded(prediction, best, tokens_each))
    if not pools.failure and prediction.left < 0:
        notes.append(
            f"graphs will not fit: {-prediction.left / GIB:.2f} GiB too much is taken; lower --mem-fraction-static"
        )
    notes += _step(server, machine.smallest_mib)
    if machine.mixed and server.settings.fraction is None:
        notes.append(
            f"the smallest card ({machine.smallest_mib:,} MiB) sets chunk, graph sizes and fraction for all of "
            "them: give --mem-fraction-static, --chunked-prefill-size and the largest graph for each server"
        )
    return tuple(notes)


def _crowded(prediction: Prediction, best: Best, tokens_each: int) -> str:
    granted, tokens, together = prediction.pools.granted, prediction.pools.tokens, run_together(prediction, tokens_each)
    text = (
        f"{granted} requests of {tokens_each:,} tokens need {granted * tokens_each:,}, and the pool holds {tokens:,}: "
        f"{together} of that size run together, the others are taken back and wait"
    )
    if best.max_running_requests > together:
        text += f"; where no more than {best.max_running_requests} are asked for, the pool is larger and holds them all"
    return text


def _shortfall(server: Server, prediction: Prediction, best: Best) -> str:
    pools, requested = prediction.pools, server.settings.requested
    if not prediction.bytes_per_state or pools.slots // prediction.slots_per_request > pools.granted:
        return f"{requested} requests are cut to {pools.granted} by the size of the pool"
    asked = "were asked for" if server.settings.given_requests is not None else "are what SGLang sets where it drafts"
    text = (
        f"{pools.slots} states serve {pools.granted} requests, each counted {prediction.slots_per_request}; "
        f"{requested} {asked}"
    )
    if pools.speculative_reserve and server.formula.speculative_reserve == "requested":
        unused = pools.speculative_reserve - prediction.speculative_states
        text += (
            f". Asking for {requested} sets {pools.speculative_reserve / GIB:.1f} GiB aside for draft tokens, of which "
            f"{max(unused, 0) / GIB:.1f} GiB are never used: asking for {best.max_running_requests} grants "
            f"{best.max_running_requests}"
        )
    return text


def _step(server: Server, size: int) -> list[str]:
    """A default fraction falls where cards grow past 35, 60 and 160 GiB: larger chunks and graphs are taken then."""
    if server.settings.fraction is not None or not size:
        return []
    step = max((each for each in STEPS_MIB if each <= size), default=0)
    if not step:
        return []
    below, above = (_defaults(server, server.settings, each) for each in (step - 1, step))
    if below.fraction - above.fraction < 0.01:
        return []
    larger = [f"chunks of {above.chunk}"] if below.chunk != above.chunk else []
    larger += [f"graphs up to {above.decode_graph}"] if below.decode_graph != above.decode_graph else []
    here = _defaults(server, server.settings, size).fraction
    text = f"where cards reach {step // 1024} GiB, SGLang takes {' and '.join(larger) or 'more memory for itself'}, "
    text += f"which leaves a static fraction of {here:.3f} on this one"
    if below.chunk != above.chunk:
        smaller = _defaults(server, replace(server.settings, chunk=below.chunk), size).fraction
        if smaller > here:
            text += f"; with --chunked-prefill-size {below.chunk} it is {smaller:.3f}"
    return [f"{text}; --mem-fraction-static sets it"]


def _defaults(server: Server, settings: Settings, size: int) -> Defaults:
    return resolve_defaults(server.formula, settings, server.geometry, size)

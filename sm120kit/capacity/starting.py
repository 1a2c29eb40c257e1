"""What would let a server start that will not: more GPUs, smaller weights, a larger card. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from sm120kit.capacity.best import Variant, most_requests
from sm120kit.capacity.machine import TAKEN_BEFORE_LOADING, bandwidth_of
from sm120kit.capacity.memory import GIB, MIB
from sm120kit.capacity.predict import Server, predict
from sm120kit.capacity.stopped import shares_out
from sm120kit.diagnosis.gpus import gpu_models
from sm120kit.errors import Sm120kitError

_SIZES = (1, 2, 4, 8, 16)
_MOST_MISSING = 1 << 44

_SMALLER = {
    "bfloat16": (("FP8", 0.55), ("4 bits (NVFP4, AWQ)", 0.35)),
    "float16": (("FP8", 0.55), ("4 bits (NVFP4, AWQ)", 0.35)),
    "fp8": (("4 bits (NVFP4, AWQ)", 0.65),),
}
"""Checkpoints of the same model, and the share of its weights that they take: scales and what is commonly left as it
is (embeddings, norms, the head) included."""


def missing_to_start(server: Server) -> int:
    """Bytes that must be free beside what is, so that the server starts; 0 where no amount helps."""
    if not _starts(replace(server, free=server.free + _MOST_MISSING)):
        return 0
    short, enough = 0, _MOST_MISSING
    while enough - short > MIB:
        middle = (short + enough) // 2
        short, enough = (short, middle) if _starts(replace(server, free=server.free + middle)) else (middle, enough)
    return enough


def _starts(server: Server) -> bool:
    try:
        return not predict(server).pools.failure
    except Sm120kitError:  # not modelled
        return False


def ways_to_start(
    server: Server, card: str, weights_type: str, tokens_each: int, *, gpus_there: int
) -> tuple[Variant, ...]:
    """The nearest ways in which it starts and serves a request of ``tokens_each`` tokens, each by itself.

    ``card`` is its present one: a larger one of the same architecture is named before others. ``gpus_there``: how many
    the machine has; more of them are named as such.
    """
    found = []
    for name, arguments, changed, quality, cost in _ways(server, card, weights_type, gpus_there):
        if _starts(changed):
            requests, prediction = most_requests(changed, min(tokens_each, changed.settings.context))
            if requests:
                found.append(Variant(name, arguments, requests, prediction.pools.tokens, quality, cost))
    return tuple(found)


_Way = tuple[str, tuple[str, ...], Server, bool, str]


def _ways(server: Server, card: str, weights_type: str, gpus_there: int) -> Iterator[_Way]:
    yield from _other_sizes(server, gpus_there)
    context = server.geometry.context
    if context and (server.settings.given_context or 0) > context:
        within = replace(server.settings, context=context, given_context=context)
        arguments = ("--context-length", str(context))
        yield "the context length that the model has", arguments, replace(server, settings=within), False, ""
    for kind, share in _SMALLER.get(weights_type, ()):
        smaller = replace(server, weights=int(server.weights * share))
        cost = f"about {smaller.weights / GIB:.0f} GiB of weights on each GPU"
        yield f"a checkpoint in {kind}", (), smaller, True, cost
    models = [row for row in gpu_models() if bandwidth_of(row.name)]  # those that a plan knows in full
    own = next((row.compute_capability for row in gpu_models() if row.name == card), "")
    for model in sorted(models, key=lambda row: (row.compute_capability != own, row.memory_mib)):
        free = model.memory_mib * MIB - TAKEN_BEFORE_LOADING
        larger = replace(server, free=free, gpu_memory_mib=model.memory_mib)
        if free > server.free and _starts(larger):
            yield f"a larger card, as {model.name}", (), larger, False, f"{model.memory_mib / 1024:.1f} GiB"
            break


def _other_sizes(server: Server, gpus_there: int) -> Iterator[_Way]:
    """The nearest larger number of GPUs; a smaller one before it where the present one cannot share the model."""
    present = server.settings.tp
    larger = [tp for tp in _SIZES if tp > present]
    smaller = [tp for tp in reversed(_SIZES) if tp < present]
    for sizes in ([] if shares_out(server.geometry, server.settings, present) else smaller, larger):
        split = next((split for tp in sizes if _starts(split := _split(server, tp))), None)
        if split:
            tp = split.settings.tp
            name = f"{tp} GPUs like this one for each server" if tp > 1 else "one GPU for each server"
            more = f"; {gpus_there} are there" if tp > gpus_there > 1 else ""
            yield name, ("--tp-size", str(tp)), split, False, f"{split.weights / GIB:.2f} GiB of weights on each{more}"


def _split(server: Server, tp: int) -> Server:
    before = server.settings.tp
    return replace(
        server,
        settings=replace(server.settings, tp=tp),
        weights=server.weights * before // tp,
        draft_weights=server.draft_weights * before // tp,
    )

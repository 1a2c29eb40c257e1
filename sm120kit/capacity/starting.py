"""What would let a server start that will not: more GPUs, smaller weights, a larger card. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from sm120kit.capacity.best import Variant, most_requests
from sm120kit.capacity.machine import TAKEN_BEFORE_LOADING
from sm120kit.capacity.memory import GIB, MIB
from sm120kit.capacity.predict import Server, predict
from sm120kit.diagnosis.gpus import gpu_models
from sm120kit.errors import Sm120kitError

_MOST_GPUS = 16
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
    except Sm120kitError:  # its heads cannot be split so
        return False


def ways_to_start(server: Server, card: str, weights_type: str, tokens_each: int) -> tuple[Variant, ...]:
    """The nearest ways in which it starts and serves a request of ``tokens_each`` tokens, each by itself.

    ``card`` is its present one: a larger one of the same architecture is named before others.
    """
    found = []
    for name, arguments, changed, quality, cost in _ways(server, card, weights_type):
        if _starts(changed):
            requests, prediction = most_requests(changed, tokens_each)
            if requests:
                found.append(Variant(name, arguments, requests, prediction.pools.tokens, quality, cost))
    return tuple(found)


def _ways(server: Server, card: str, weights_type: str) -> Iterator[tuple[str, tuple[str, ...], Server, bool, str]]:
    tp = server.settings.tp * 2
    while tp <= _MOST_GPUS:
        split = _split(server, tp)
        if _starts(split):
            cost = f"{split.weights / GIB:.2f} GiB of weights on each"
            yield f"{tp} GPUs like this one for each server", ("--tp-size", str(tp)), split, False, cost
            break
        tp *= 2
    for kind, share in _SMALLER.get(weights_type, ()):
        smaller = replace(server, weights=int(server.weights * share))
        cost = f"about {smaller.weights / GIB:.0f} GiB of weights on each GPU"
        yield f"a checkpoint in {kind}", (), smaller, True, cost
    models = gpu_models()
    own = next((row.compute_capability for row in models if row.name == card), "")
    for model in sorted(models, key=lambda row: (row.compute_capability != own, row.memory_mib)):
        free = model.memory_mib * MIB - TAKEN_BEFORE_LOADING
        larger = replace(server, free=free, gpu_memory_mib=model.memory_mib)
        if free > server.free and _starts(larger):
            yield f"a larger card, as {model.name}", (), larger, False, f"{model.memory_mib / 1024:.1f} GiB"
            break


def _split(server: Server, tp: int) -> Server:
    before = server.settings.tp
    return replace(
        server,
        settings=replace(server.settings, tp=tp),
        weights=server.weights * before // tp,
        draft_weights=server.draft_weights * before // tp,
    )

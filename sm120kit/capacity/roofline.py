"""How fast decoding can be at most: what must be read for one step, by how fast memory can be read. Pure."""

from __future__ import annotations

from typing import NamedTuple

from sm120kit.capacity.predict import Prediction, Server
from sm120kit.capacity.types import Roofline

LOAD_REQUESTS = 256
"""Requests that a launch puts to a server at once, at most."""


class Read(NamedTuple):
    """Parts of one GPU's weights that a step does not read as a whole. Bytes."""

    experts: int
    """Routed experts: of those, the ones that one token needs, which is the least that a step can read."""
    left_out: int
    """A table of embeddings that is not the head, and what sees pictures: as good as nothing is read of it."""


def decode_roofline(
    server: Server, prediction: Prediction, *, requests: int, tokens_each: int, read: Read, bandwidth: int
) -> Roofline | None:
    """The bound for so many requests, each holding ``tokens_each`` tokens; ``None`` where the card is not known.

    Every step reads the weights (:class:`Read`), reads and writes every state, and reads the keys and values held. A
    drafted step may yield all of its tokens.
    """
    if not bandwidth or not requests:
        return None
    geometry = server.geometry
    used = min(geometry.experts_per_token / geometry.experts, 1.0) if geometry.experts else 1.0
    experts = min(read.experts, server.weights)
    weights = max(server.weights - experts - read.left_out, 0) + int(experts * used)
    full = min(requests * tokens_each, prediction.pools.tokens) * prediction.bytes_per_token
    held = min(tokens_each, geometry.window) if geometry.window else 0
    sliding = requests * held * prediction.sliding_bytes_per_token
    step = weights + full + sliding + 2 * requests * prediction.bytes_per_state
    yielded = max(server.settings.draft_tokens, 1)
    return Roofline(requests * yielded * bandwidth / step, requests, step, bandwidth, tokens_each)

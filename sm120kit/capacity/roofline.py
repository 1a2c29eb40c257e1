"""How fast decoding can be at most: what must be read for one step, by how fast memory can be read. Pure."""

from __future__ import annotations

from sm120kit.capacity.predict import Prediction, Server
from sm120kit.capacity.types import Roofline


def decode_roofline(
    server: Server, prediction: Prediction, *, experts: int, tokens_each: int, bandwidth: int
) -> Roofline | None:
    """The bound for the granted requests, each holding ``tokens_each`` tokens; ``None`` where the card is not known.

    Every step reads the weights (of the ``experts`` bytes only those that one token needs, the least there can be),
    reads and writes every state, and reads the keys and values held. A drafted step may yield all of its tokens.
    """
    requests = prediction.pools.granted
    if not bandwidth or not requests:
        return None
    geometry = server.geometry
    used = min(geometry.experts_per_token / geometry.experts, 1.0) if geometry.experts else 1.0
    weights = server.weights - experts + int(experts * used)
    full = min(requests * tokens_each, prediction.pools.tokens) * prediction.bytes_per_token
    held = min(tokens_each, geometry.window) if geometry.window else 0
    sliding = requests * held * prediction.sliding_bytes_per_token
    step = weights + full + sliding + 2 * requests * prediction.bytes_per_state
    yielded = max(server.settings.draft_tokens, 1)
    return Roofline(requests * yielded * bandwidth / step, requests, step, bandwidth)

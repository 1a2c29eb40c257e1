"""From a server's settings, model and memory to what it will grant. Pure."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from sm120kit.capacity.defaults import Defaults, resolve_defaults
from sm120kit.capacity.formulas import Formula
from sm120kit.capacity.geometry import Geometry
from sm120kit.capacity.memory import MIB, bytes_per_state, bytes_per_token, sliding_bytes_per_token, slots_per_request
from sm120kit.capacity.pools import Asked, Pools, size_pools, sliding_tokens_for
from sm120kit.capacity.settings import Settings
from sm120kit.capacity.stopped import Stop, stop_of
from sm120kit.errors import Sm120kitError

_GPU_TRANSPORT_MIB = 1024


class Server(msgspec.Struct, frozen=True):
    """One server before it starts: everything that decides what it grants."""

    formula: Formula
    geometry: Geometry
    settings: Settings
    free: int
    """Bytes free on its GPU before anything is loaded."""
    weights: int
    """Bytes of weights on each of its GPUs."""
    draft_weights: int = 0
    """Bytes of a draft model's weights on each of its GPUs."""
    draft_layers: int = 0
    """Layers of the draft model whose keys and values the version counts."""
    gpu_memory_mib: int = 0
    """Size of the smallest card that nvidia-smi lists; 0 = not known."""

    def asking(self, requests: int | None) -> Server:
        """The same server with another ``--max-running-requests``."""
        return replace(self, settings=replace(self.settings, requested=requests, given_requests=requests))


class Prediction(msgspec.Struct, frozen=True):
    """What a server will come to."""

    pools: Pools
    defaults: Defaults
    rest: float
    """Bytes shared out between states and keys and values."""
    slots_per_request: int
    bytes_per_state: int
    bytes_per_token: int
    sliding_bytes_per_token: int
    state_pool: int
    """Bytes of state slots, the one for padding included."""
    kv_pool: int
    speculative_states: int
    """Bytes that the states of draft tokens really take of ``pools.speculative_reserve``."""
    left: int
    """Bytes that stay free in the end; below 0 the graphs do not fit."""
    page: str = ""
    """Where it will not start for another reason than memory: the page of the catalogue on it."""


def predict(server: Server) -> Prediction:
    """What this server will grant. It does not raise for a server that will not start: ``pools.failure`` says why.

    Raises:
        Sm120kitError: the combination is not modelled.
    """
    formula, settings = server.formula, server.settings
    defaults = resolve_defaults(formula, settings, server.geometry, server.gpu_memory_mib)
    stop = stop_of(server.geometry, settings)
    if stop:
        return _stopped(server, defaults, stop)
    loaded = server.weights + (server.draft_weights if formula.draft_first else 0)
    rest = (server.free - loaded) - server.free * (1 - defaults.fraction) - _multimodal(server)
    asked = asked_of(server, defaults)
    pools = size_pools(formula, asked, rest)
    state_pool = (pools.slots + 1) * asked.bytes_per_state if asked.bytes_per_state else 0
    kv_pool = pools.tokens * asked.bytes_per_token + pools.sliding_tokens * asked.sliding_bytes_per_token
    drafting = (pools.granted + 1) * asked.bytes_per_state * asked.draft_tokens
    taken = server.weights + server.draft_weights + state_pool + kv_pool + drafting + defaults.graphs
    return Prediction(
        pools=pools,
        defaults=defaults,
        rest=rest,
        slots_per_request=asked.slots_per_request,
        bytes_per_state=asked.bytes_per_state,
        bytes_per_token=asked.bytes_per_token,
        sliding_bytes_per_token=asked.sliding_bytes_per_token,
        state_pool=state_pool,
        kv_pool=kv_pool,
        speculative_states=drafting,
        left=server.free - taken,
    )


def _stopped(server: Server, defaults: Defaults, stop: Stop) -> Prediction:
    """What is left to say of a server that ends before it looks at memory."""
    settings = server.settings
    return Prediction(
        pools=Pools(0, 0, 0, 0, failure=stop.reason),
        defaults=defaults,
        rest=0,
        slots_per_request=0,
        bytes_per_state=0,
        bytes_per_token=bytes_per_token(server.geometry, settings.kv_dtype, settings.tp),
        sliding_bytes_per_token=0,
        state_pool=0,
        kv_pool=0,
        speculative_states=0,
        left=server.free - server.weights - server.draft_weights,
        page=stop.page,
    )


def asked_of(server: Server, defaults: Defaults) -> Asked:
    """The numbers that the version's own functions are given."""
    settings, geometry = server.settings, server.geometry
    state = geometry.state
    sliding = sliding_bytes_per_token(geometry, settings.kv_dtype, settings.tp)
    return Asked(
        requested=settings.requested,
        context=settings.context,
        bytes_per_token=_with_draft(server, bytes_per_token(geometry, settings.kv_dtype, settings.tp)),
        page_size=settings.page_size,
        most_tokens=settings.most_tokens,
        bytes_per_state=bytes_per_state(state, settings.state_dtype, settings.tp) if state else 0,
        slots_per_request=slots_per_request(settings.strategy, radix=settings.radix, overlap=settings.overlap),
        state_share=settings.state_share,
        slots=settings.slots,
        radix=settings.radix,
        draft_tokens=settings.draft_tokens if state else 0,
        sliding_bytes_per_token=sliding,
        sliding_share=settings.sliding_share,
        sliding_tokens=_sliding_tokens(server, defaults) if sliding else None,
    )


def _with_draft(server: Server, each: int) -> int:
    """Newer versions count the draft's keys and values with the model's; older ones leave them to the rest."""
    if not server.formula.draft_first or not server.settings.algorithm or not server.draft_layers:
        return each
    if server.geometry.sliding_layers:
        raise Sm120kitError(
            f"drafting for {server.geometry.architecture} with a draft of its own keys and values is not modelled",
            hint="Plan without --speculative-algorithm",
        )
    return each + int(each * server.draft_layers / server.geometry.layers)


def _sliding_tokens(server: Server, defaults: Defaults) -> int | None:
    settings = server.settings
    by_requests = server.formula.sliding_pool_by_requests and not settings.radix and defaults.chunk > 0
    if not by_requests or settings.requested is None:
        return None
    if settings.algorithm:
        raise Sm120kitError(
            "a sliding-window pool without prefix cache and with drafting is not modelled",
            hint="Plan without --disable-radix-cache or without --speculative-algorithm",
        )
    return sliding_tokens_for(
        settings.requested,
        window=server.geometry.window,
        page_size=settings.page_size,
        chunk=defaults.chunk,
        overlap=settings.overlap,
    )


def _multimodal(server: Server) -> float:
    if not server.geometry.multimodal or not server.formula.multimodal_mib:
        return 0.0
    mib = server.formula.multimodal_mib + (_GPU_TRANSPORT_MIB if server.settings.gpu_transport else 0)
    return float(mib * MIB)

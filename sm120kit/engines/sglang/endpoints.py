"""Reads what a running SGLang, 0.5.11 to 0.5.23, tells of itself: ``/server_info``, ``/v1/loads``, ``/v1/models``,
``/model_info``.

Of these only ``/server_info`` asks the scheduler in every version. ``/v1/loads`` does so up to 0.5.12; 0.5.23 answers
it from what the scheduler last wrote down, which is every 15th step of decoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sm120kit.diagnosis.launch import Value
from sm120kit.engines.sglang.observed import Observed
from sm120kit.errors import Sm120kitError

_GIB = 1 << 30


class Load(msgspec.Struct, frozen=True):
    """What a server is at, all its ranks together."""

    running: int
    waiting: int
    used_tokens: int | None = None
    written: float | None = None
    """When the scheduler wrote it down, in seconds since the epoch."""


class ModelInfo(msgspec.Struct, frozen=True):
    """What ``/model_info`` tells."""

    model_path: str
    generates: bool = True
    """Not a model that only embeds or classifies."""


def read_server_info(answer: object, source: str) -> Observed:
    """What ``/server_info`` tells: the settings asked for, and in ``internal_states`` what became of them.

    Raises:
        Sm120kitError: this is no answer of SGLang.
    """
    info = _mapping(answer)
    state = _mapping(next(iter(info["internal_states"]), None)) if isinstance(info.get("internal_states"), list) else {}
    if not isinstance(info.get("version"), str) or "max_total_num_tokens" not in info:
        raise Sm120kitError(f"{source} does not answer as SGLang's /server_info does")
    memory = _mapping(state.get("memory_usage"))
    graphs = memory.get("graph")
    parts = list(graphs.values()) if isinstance(graphs, dict) else [graphs]
    return Observed(
        source=source,
        version=str(info["version"]),
        granted=_whole(state.get("effective_max_running_requests_per_dp")),
        tokens=_whole(info.get("max_total_num_tokens")),
        context=_whole(info.get("context_length")),
        state_slots=_whole(state.get("max_mamba_cache_size")),
        weights=_size(memory.get("weight")),
        kv_pool=_size(memory.get("kvcache")),
        graphs=sum(size for part in parts if (size := _size(part)) is not None),
        settings={name: value for name, raw in info.items() if (value := _setting(raw)) is not None},
    )


def read_loads(answer: object, source: str) -> Observed:
    """What ``/v1/loads`` tells of the first rank. Its ``max_running_requests`` is the number granted.

    Raises:
        Sm120kitError: this is no answer of SGLang.
    """
    loads = _mapping(answer).get("loads")
    load = _mapping(loads[0]) if isinstance(loads, list) and loads else {}
    if _whole(load.get("max_total_num_tokens")) is None:
        raise Sm120kitError(f"{source} does not answer as SGLang's /v1/loads does")
    memory = _mapping(load.get("memory"))
    version = _mapping(answer).get("version")
    return Observed(
        source=source,
        version=version if isinstance(version, str) else "",
        granted=_whole(load.get("max_running_requests")),
        tokens=_whole(load.get("max_total_num_tokens")),
        weights=_size(memory.get("weight_gb")),
        kv_pool=_size(memory.get("kv_cache_gb")),
        graphs=_size(memory.get("graph_gb")),
    )


def read_load(answer: object) -> Load | None:
    """How many requests run and wait, from ``/v1/loads``; ``None`` where it does not say."""
    loads = _mapping(answer).get("loads")
    ranks = [_mapping(each) for each in loads] if isinstance(loads, list) else []
    running = [_whole(each.get("num_running_reqs")) for each in ranks]
    waiting = [_whole(each.get("num_waiting_reqs")) for each in ranks]
    if not ranks or None in running or None in waiting:
        return None
    used = [_whole(each.get("num_used_tokens")) for each in ranks]
    written = [stamp for each in ranks if isinstance(stamp := each.get("timestamp"), float)]
    return Load(
        running=sum(each or 0 for each in running),
        waiting=sum(each or 0 for each in waiting),
        used_tokens=None if None in used else sum(each or 0 for each in used),
        written=min(written, default=None),
    )


def read_models(answer: object) -> tuple[str, ...]:
    """The names under which ``/v1/models`` offers what the server serves, adapters too; empty where it does not say."""
    data = _mapping(answer).get("data")
    names = [_mapping(each).get("id") for each in data] if isinstance(data, list) else []
    return tuple(each for each in names if isinstance(each, str))


def read_model_info(answer: object) -> ModelInfo | None:
    """``None`` where this is no answer of SGLang."""
    path = _mapping(answer).get("model_path")
    generates = _mapping(answer).get("is_generation")
    return ModelInfo(path, generates is not False) if isinstance(path, str) else None


def read_granted(answer: object) -> int | None:
    """The requests that a server runs at a time, all its ranks together, from ``/server_info``."""
    states = _mapping(answer).get("internal_states")
    ranks = [_mapping(each) for each in states] if isinstance(states, list) else []
    granted = [_whole(each.get("effective_max_running_requests_per_dp")) for each in ranks]
    return None if not granted or None in granted else sum(each or 0 for each in granted)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _size(gib: object) -> int | None:
    return round(gib * _GIB) if isinstance(gib, int | float) and not isinstance(gib, bool) else None


def _setting(value: object) -> Value:
    if isinstance(value, list):
        return tuple(str(each) for each in value)
    return value if isinstance(value, bool | int | float | str) else None

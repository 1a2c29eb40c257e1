"""Reads the answers of a running SGLang: ``/server_info`` and ``/v1/loads``, of 0.5.11 to 0.5.23."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sm120kit.diagnosis.launch import Value
from sm120kit.engines.sglang.observed import Observed
from sm120kit.errors import Sm120kitError

_GIB = 1 << 30


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

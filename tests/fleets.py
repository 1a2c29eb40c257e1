"""Fleets as data, made without starting anything."""

from __future__ import annotations

from typing import Any

from sm120kit.fleet.types import SCHEMA, Cause, Death, Event, Fleet, Replica, Verdict

START = 1_000_000.0
"""When every fleet made here was started."""

LADDER = (
    "port-owner",
    "model",
    "generation",
    "thinking",
    "configuration",
    "concurrency",
    "memory",
    "load",
    "throughput",
)


def replica(index: int = 0, state: Any = "verified", **more: Any) -> Replica:
    """One server of eight on its own GPU, as it is half a minute after its start."""
    loaded = state in ("verified", "unverified", "hung")
    values: dict[str, Any] = {
        "index": index,
        "gpu": f"GPU-0000000{index}-1111-2222-3333-444444444444",
        "gpu_index": str(index),
        "port": 30000 + index,
        "nccl_port": 29500 + index,
        "pid": 4000 + index,
        "state": state,
        "requested": 64,
        "predicted": 37,
        "granted": 37 if loaded else None,
        "started": START + 1,
        "ready_s": 41.5 if loaded else None,
        "memory_used": 88 << 30 if loaded else 12 << 30,
        "log": f"/state/fleets/qwen/logs/replica-{index}-1.log",
    }
    return Replica(**{**values, **more})


def fleet(*replicas: Replica, **more: Any) -> Fleet:
    """A fleet of these replicas, at level load."""
    values: dict[str, Any] = {
        "schema": SCHEMA,
        "tool_version": "0",
        "name": "qwen",
        "level": "load",
        "verified": bool(replicas) and all(each.state == "verified" for each in replicas),
        "rehearsal": False,
        "granted_total": sum(each.granted or 0 for each in replicas if each.state == "verified"),
        "replicas": replicas,
        "model": "/models/qwen",
        "sglang": "0.5.23",
        "started": START,
        "updated": START + 60,
    }
    return Fleet(**{**values, **more})


def passed(*names: str) -> tuple[Verdict, ...]:
    """Verdicts of these names that passed; without names the whole ladder."""
    return tuple(Verdict(name, True, f"evidence of {name}") for name in names or LADDER)


def death(**more: Any) -> Death:
    """The end of a replica whose log tells why."""
    cause = Cause(
        "memory.no-room-for-graphs",
        "the GPU has no room left for CUDA graphs",
        212,
        "torch.OutOfMemoryError: CUDA out of memory",
        ("Lower --mem-fraction-static", "Lower --cuda-graph-max-bs"),
    )
    values: dict[str, Any] = {"at": START + 30, "exit": "exit code 1", "log": "/state/r3.log", "causes": (cause,)}
    return Death(**{**values, **more})


def event(text: str, at: float = 5, replica: int | None = None) -> Event:
    """Something that happened ``at`` seconds after the start."""
    return Event(START + at, text, replica)

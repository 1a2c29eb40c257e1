"""What one stand-in is to be: made from the launch, kept in a private file, read at its start.

The type and its reader need nothing but the standard library; what is costly to find out is in the file already.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # neither is needed where a profile is read
    from pathlib import Path

    from sm120kit.fleet.spec import FleetSpec, ReplicaSpec

_SPEED = 200.0
"""Tokens a second for each request where no roofline is known."""

_ROOFLINE_SHARE = 0.7
"""What a healthy server reaches of it."""


class Profile(NamedTuple):
    """One stand-in. Sizes are bytes, times seconds."""

    replica: int
    version: str
    """Of SGLang; what it does not do alike in all versions is done as this one does."""
    wording: str
    """The version that is known best before it: how lines are worded and answers built."""
    folder: str
    """Where marks of faults lie that are to happen once."""
    arguments: tuple[str, ...]
    """SGLang's arguments that ``settings`` were resolved for."""
    settings: dict[str, Any]
    """Every server argument as /server_info would show it."""
    flags: dict[str, tuple[str, str]]
    """Flags that its own command line may hold, with the setting's name and its type; any other makes it read the table
    of all flags, which costs time."""
    architecture: str
    context: int
    granted: int
    tokens: int
    weights: int
    pool: int
    """All that stays allocated beside weights and graphs; the next three say what of it its log tells."""
    kv_pool: int
    state_slots: int
    state_pool: int
    graphs: int
    memory_total: int
    """Of each of its GPUs, or of the host."""
    memory_before: int
    """Of it, what is taken on its GPUs already when it starts."""
    context_memory: int
    """What it takes of each GPU before it loads anything."""
    tokens_per_second: float
    """Of each request."""
    thinking: bool
    """Whether the model thinks unless a request says otherwise."""
    embedding: dict[str, Any]
    """The part of /model_info that is about embeddings, of which this model makes none."""
    gpu_folder: str = ""
    """Where its simulated GPUs keep their allocations."""
    gpus: tuple[str, ...] = ()
    """UUIDs; CUDA_VISIBLE_DEVICES counts where it is set, as for the genuine one."""
    faults: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    """Those of them that only the first start of this launch has."""
    load_s: float = 2.0
    """From its start until it is ready."""
    later_s: float = 5.0
    """From ready until what happens later."""
    watchdog_s: float = 0.5
    """Between two looks at its scheduler, between two looks at what is still to be drained, and before it ends itself
    after its scheduler's death. SGLang takes 1, 5 and 5 s."""
    health_s: float = 1.0
    """Between two looks whether a health probe was answered; SGLang's own figure."""


def read_profile(path: str) -> Profile:
    """Read a file that :func:`profile_of` wrote.

    Raises:
        OSError, ValueError, TypeError: it cannot be read, or is none.
    """
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib costs a stand-in milliseconds
        return Profile(**json.load(file))


def write_profile(profile: Profile, path: Path) -> None:
    """Write it, readable for its owner alone, whole or not at all."""
    part = path.with_suffix(".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(profile._asdict(), file)
    part.replace(path)


def profile_of(spec: FleetSpec, replica: ReplicaSpec, folder: Path, path: Path | None = None) -> Path:
    """Write the profile of one replica to ``path``, else into ``folder``; returns the path.

    ``folder`` is kept for all stand-ins of the fleet and all their starts: its simulated GPUs are laid out in
    ``folder/gpus`` the first time, and marks say which faults happened already.

    Raises:
        Sm120kitError: a fault of the spec is none, or its arguments cannot be read.
    """
    from sm120kit.fleet.rehearsal.gpus import lay_out

    gpu_folder = folder / "gpus"
    if not gpu_folder.exists():
        lay_out(gpu_folder, tuple(gpu for each in spec.replicas for gpu in each.gpus))
    path = path or folder / f"profile-{replica.index}.json"
    write_profile(make_profile(spec, replica, folder), path)
    return path


def make_profile(spec: FleetSpec, replica: ReplicaSpec, folder: Path) -> Profile:
    """The profile of one replica: a healthy server as the plan expects it, with the faults asked for.

    Raises:
        Sm120kitError: a fault of the spec is none, or its arguments cannot be read.
    """
    from sm120kit.capacity.machine import TAKEN_BY_CONTEXT
    from sm120kit.capacity.roofline import LOAD_REQUESTS
    from sm120kit.fleet.rehearsal.faults import faults_of
    from sm120kit.fleet.rehearsal.settings import resolve

    rehearsal = spec.rehearsal
    faults = faults_of(rehearsal.faults, replica.index) if rehearsal else ()
    resolved = resolve((*spec.arguments, *replica.arguments), spec.sglang, spec.model)
    expected = replica.expected
    granted = expected.granted if expected else spec.requested or 32
    roofline = expected.roofline_tokens_per_second if expected else None
    total = min((gpu.memory_total for gpu in replica.gpus), default=16 << 30)
    footprint = (expected and expected.footprint) or (int(total * 0.85) if replica.gpus else 1 << 30)
    graphs = ((expected and expected.graphs) or footprint // 20) if replica.gpus else 0
    context_memory = min(TAKEN_BY_CONTEXT, footprint // 20) if replica.gpus else 0
    room = footprint - graphs - context_memory
    weights = min((expected and expected.weights) or footprint // 3, room)
    return Profile(
        replica=replica.index,
        version=spec.sglang,
        wording=resolved.wording,
        folder=str(folder),
        arguments=resolved.arguments,
        settings=resolved.settings,
        flags=resolved.flags,
        architecture=resolved.architecture,
        context=resolved.context,
        granted=max(1, granted),
        tokens=expected.tokens if expected else 65_536,
        weights=weights,
        pool=room - weights,
        kv_pool=room - weights if expected is None or expected.kv_pool is None else expected.kv_pool,
        state_slots=expected.state_slots if expected else 0,
        state_pool=expected.state_pool if expected else 0,
        graphs=graphs,
        memory_total=total,
        memory_before=max((gpu.memory_used for gpu in replica.gpus), default=0),
        context_memory=context_memory,
        tokens_per_second=roofline * _ROOFLINE_SHARE / max(1, min(granted, LOAD_REQUESTS)) if roofline else _SPEED,
        thinking=spec.thinking == "on" or (spec.thinking == "auto" and bool(spec.reasoning_parser)),
        embedding=resolved.embedding,
        gpu_folder=str(folder / "gpus"),
        gpus=tuple(gpu.uuid for gpu in replica.gpus),
        faults=tuple(fault.kind for fault in faults),
        once=tuple(fault.kind for fault in faults if fault.once),
        load_s=rehearsal.load_s if rehearsal else 2.0,
    )

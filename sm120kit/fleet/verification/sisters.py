"""The verdicts that only a comparison gives: the same answer, the same settings, the same memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.gpus import GpuMemory, GpuReader
from sm120kit.fleet.types import Verdict
from sm120kit.fleet.verification.climb import Climb
from sm120kit.fleet.verification.configuration import judge_configuration
from sm120kit.fleet.verification.generation import compare
from sm120kit.fleet.verification.memory import Held, held, judge_memory
from sm120kit.fleet.verification.types import Reference, ReplicaOutcome, Sisters

MEMORY_S = 30.0
"""Seconds for the driver to tell how much memory is in use; it answers in milliseconds, or is ill."""


async def compare_sisters(climbs: Sequence[Climb], reader: GpuReader | None, reference: Reference) -> None:
    """Report those verdicts for all servers. None is lost where another cannot be worked out."""
    memory = await _read_memory(climbs, reader)
    found = {each.index: _held(each, memory) for each in climbs}
    for each in climbs:
        each.memory_used = found[each.index].used
        each.footprints = found[each.index].each
    subjects = {each.index: each.subject for each in climbs}
    settings = {each.index: each.told.settings for each in climbs}
    kinds = {each.index: each.kind for each in climbs}
    before = {kind: each.configuration for kind, each in reference.by_kind.items()}
    footprints = {kind: each.footprints for kind, each in reference.by_kind.items()}
    _report(climbs, "generation", lambda: _generation(climbs, reference))
    _report(climbs, "configuration", lambda: judge_configuration(settings, kinds, before))
    _report(climbs, "memory", lambda: judge_memory(subjects, found, kinds, footprints))


def by_kind(climbs: Sequence[Climb]) -> dict[str, list[Climb]]:
    """Those that can be held against one another."""
    found: dict[str, list[Climb]] = {}
    for each in climbs:
        found.setdefault(each.kind, []).append(each)
    return found


def _generation(climbs: Sequence[Climb], reference: Reference) -> dict[int, Verdict]:
    """Judged among those of one kind; those of other kinds may word it otherwise, which is told."""
    kinds = by_kind(climbs)
    verdicts: dict[int, Verdict] = {}
    for kind, members in kinds.items():
        answers = {each.index: each.answer for each in members}
        verdicts.update(compare(answers, reference=reference.of(kind).answer))
    if len(kinds) == 1:
        return verdicts
    told = compare({each.index: each.answer for each in climbs}, alike=False)
    return {index: told[index] if each.passed else each for index, each in verdicts.items()}


def _report(climbs: Sequence[Climb], name: str, judge: Callable[[], dict[int, Verdict]]) -> None:
    try:
        verdicts = judge()
    except Exception as error:
        verdicts = {}
        why = f"could not be compared: {type(error).__name__}: {error}"
    else:
        why = "could not be compared"
    for each in climbs:
        each.report(verdicts.get(each.index, Verdict(name, None, why)))


async def _read_memory(climbs: Sequence[Climb], reader: GpuReader | None) -> dict[str, GpuMemory] | str:
    """By UUID, or why it cannot be read."""
    if not any(each.subject.gpus for each in climbs):
        return {}
    if reader is None:
        return "nothing reads the memory of the GPUs here"
    try:
        return await asyncio.wait_for(asyncio.to_thread(reader.read), MEMORY_S)
    except asyncio.TimeoutError:
        return f"the driver did not tell within {MEMORY_S:.0f} s"
    except Sm120kitError as error:
        return error.message
    except Exception as error:
        return f"the memory of the GPUs cannot be read: {type(error).__name__}: {error}"


def _held(climb: Climb, memory: dict[str, GpuMemory] | str) -> Held:
    return Held(problem=memory) if isinstance(memory, str) else held(climb.subject.gpus, memory)


def make_reference(climbs: Sequence[Climb], outcomes: Sequence[ReplicaOutcome], before: Reference) -> Reference:
    """What the verified ones gave, added to ``before`` where that lacks it."""
    good = [climb for climb, outcome in zip(climbs, outcomes, strict=True) if outcome.verified]
    found = dict(before.by_kind)
    for kind, members in by_kind(good).items():
        known = before.of(kind)
        rates = tuple(each.tokens_per_second for each in members if each.tokens_per_second is not None)
        found[kind] = Sisters(
            known.answer or members[0].answer.text,
            known.configuration or members[0].told.settings.common,
            known.footprints or tuple(size for each in members for size in each.footprints),
            known.tokens_per_second or rates,
        )
    return Reference(found)

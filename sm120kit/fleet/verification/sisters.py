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
from sm120kit.fleet.verification.types import Reference, ReplicaOutcome

MEMORY_S = 30.0
"""Seconds for the driver to tell how much memory is in use; it answers in milliseconds, or is ill."""


async def compare_sisters(climbs: Sequence[Climb], reader: GpuReader | None, reference: Reference) -> None:
    """Report those verdicts for all servers. None is lost where another cannot be worked out."""
    memory = await _read_memory(climbs, reader)
    found = {each.index: _held(each, memory) for each in climbs}
    for each in climbs:
        each.memory_used = found[each.index].used
    subjects = {each.index: each.subject for each in climbs}
    answers = {each.index: each.answer for each in climbs}
    settings = {each.index: each.told.settings for each in climbs}
    alike = _alike(climbs)
    _report(climbs, "generation", lambda: compare(answers, reference=reference.answer, alike=alike))
    _report(climbs, "configuration", lambda: judge_configuration(settings, reference.configuration))
    _report(climbs, "memory", lambda: judge_memory(subjects, found, reference.footprints))


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


def _alike(climbs: Sequence[Climb]) -> bool:
    """Whether all have the same GPUs and the same SGLang, as far as they tell."""
    gpus = {tuple(gpu.name for gpu in each.subject.gpus) for each in climbs}
    versions = {each.told.settings.version for each in climbs if each.told.settings.version}
    return len(gpus) <= 1 and len(versions) <= 1


def make_reference(climbs: Sequence[Climb], outcomes: Sequence[ReplicaOutcome], before: Reference) -> Reference:
    """What the verified ones gave; ``before`` where it holds something already, or none of them is verified."""
    good = [each for each, outcome in zip(climbs, outcomes, strict=True) if outcome.verified]
    if not good:
        return before
    footprints = tuple(
        max(0, outcome.memory_used - sum(gpu.memory_used for gpu in climb.subject.gpus)) // len(climb.subject.gpus)
        for climb, outcome in zip(climbs, outcomes, strict=True)
        if outcome.verified and outcome.memory_used is not None and climb.subject.gpus
    )
    rates = tuple(each.tokens_per_second for each in good if each.tokens_per_second is not None)
    return Reference(
        before.answer or good[0].answer.text,
        before.configuration or good[0].told.settings.common,
        before.footprints or footprints,
        before.tokens_per_second or rates,
    )

"""memory: what the server holds on its GPUs is what the plan says, and what its sisters hold.

NVML inside a container does not tell whose memory it is. So the difference is judged between what is in use now and
what was before the launch; what somebody else took meanwhile is in it, and the evidence gives the total too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from sm120kit.fleet.gpus import GpuMemory
from sm120kit.fleet.spec import Gpu
from sm120kit.fleet.types import Struct, Verdict
from sm120kit.fleet.verification.types import Subject
from sm120kit.fleet.verification.wording import GIB, gib

PLAN_TOLERANCE = 0.03
PLAN_SLACK = 1.5 * GIB
"""The larger of the two counts. The plan knows weights, pools and graphs; workspaces, the CUDA context and what the
allocator keeps come to 0.6 to 1.3 GiB more or less, and pools follow the free memory of the moment."""

SISTER_TOLERANCE = 0.02
SISTER_SLACK = 1.0 * GIB
"""The same between servers that are set up alike: they have all of that in common but the free memory of the moment."""

FEWEST = 3
"""Sizes, from which on one can be told to be unusual."""


class Held(Struct, frozen=True):
    """One server's memory."""

    each: tuple[int, ...] = ()
    """Bytes more than before its start, on each of its GPUs."""
    used: int | None = None
    """Bytes in use on all of them together, whoever uses them."""
    before: int = 0
    total: int = 0
    problem: str = ""
    """Why it is not known."""


def held(gpus: Sequence[Gpu], read: Mapping[str, GpuMemory]) -> Held:
    """What was read, as it concerns one server."""
    if not gpus:
        return Held(problem="no GPU: it runs on the CPU, or where it runs is not known")
    missing = [each.uuid for each in gpus if each.uuid not in read]
    if missing:
        return Held(problem=f"NVML does not show GPU {missing[0]}")
    now = [read[each.uuid] for each in gpus]
    return Held(
        tuple(max(0, memory.used - gpu.memory_used) for gpu, memory in zip(gpus, now, strict=True)),
        sum(each.used for each in now),
        sum(each.memory_used for each in gpus),
        sum(each.total for each in now),
    )


def judge_memory(
    subjects: Mapping[int, Subject],
    found: Mapping[int, Held],
    kinds: Mapping[int, str],
    before: Mapping[str, Sequence[int]],
) -> dict[int, Verdict]:
    """Every server's verdict, by its number, among those of its kind. ``before``: by kind, what servers that were
    verified earlier held on each GPU."""
    verdicts = {}
    for index, subject in subjects.items():
        sisters = [number for number, kind in kinds.items() if kind == kinds[index] and number != index]
        sizes = [size for number in sisters for size in found[number].each] or before.get(kinds[index], ())
        verdicts[index] = _judge(subject, found[index], sizes)
    return verdicts


def _judge(subject: Subject, own: Held, others: Sequence[int]) -> Verdict:
    if own.problem or own.used is None:
        return _verdict(None, own.problem)
    sizes = [*own.each, *others]
    footprint = subject.expected.footprint if subject.expected else None
    most, least = max(own.each), min(own.each)
    parts = [f"holds {gib(sum(own.each))}"]
    faults = []
    if footprint is not None:
        parts.append(f"planned {gib(footprint * len(own.each))}")
        if least < footprint - max(PLAN_SLACK, PLAN_TOLERANCE * footprint):
            faults.append(f"{gib(footprint - least)} less than planned")
        if most > footprint + max(PLAN_SLACK, PLAN_TOLERANCE * footprint):
            faults.append(f"{gib(most - footprint)} more than planned")
    # Of two that differ, neither is the odd one.
    compared = len(sizes) >= FEWEST
    if compared:
        usual = median(sizes)
        slack = max(SISTER_SLACK, SISTER_TOLERANCE * usual)
        parts.append(f"the median is {gib(usual)}")
        if usual - least > slack:
            faults.append(f"{gib(usual - least)} less than is usual here")
        if most - usual > slack:
            faults.append(f"{gib(most - usual)} more than is usual here")
    parts.append(f"{gib(own.used)} of {gib(own.total)} in use, {gib(own.before)} of it before the start")
    evidence = "; ".join(parts)
    if faults:
        return _verdict(False, f"{' and '.join(faults)}: {evidence}")
    if footprint is None and not compared:
        return _verdict(None, f"{evidence}; there is no plan and too few sisters to hold that against")
    return _verdict(True, evidence)


def _verdict(passed: bool | None, evidence: str) -> Verdict:
    return Verdict("memory", passed, evidence)

"""Puts all servers under load together, at level load, and judges what each of them and all together gave."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from statistics import median

from sm120kit.fleet.asking import Asking, connections_possible
from sm120kit.fleet.types import Verdict
from sm120kit.fleet.verification.climb import Climb
from sm120kit.fleet.verification.load import (
    FIRST_TOKENS,
    Round,
    Size,
    judge_load,
    longest,
    next_length,
    put,
    size_of,
)
from sm120kit.fleet.verification.sisters import by_kind
from sm120kit.fleet.verification.throughput import judge_throughput, slow_ones
from sm120kit.fleet.verification.types import Reference

MEASURED_S = 2.5
"""How long a round must last that finds a server slow: in a short one, what else the host does counts as much as the
GPU."""

MOST_LONGER = 16.0


async def put_under_load(asking: Asking, climbs: Sequence[Climb], reference: Reference) -> None:
    """Report the verdicts ``load`` and ``throughput`` of all servers."""
    able = {each.index: each for each in climbs if _why_not(each) == ""}
    for each in climbs:
        if each.index not in able:
            each.report(Verdict("load", None, f"not tried: {_why_not(each)}"))
            each.report(Verdict("throughput", None, f"not measured: {_why_not(each)}"))
    if not able:
        return
    sizes = _sizes(able)
    rounds: dict[int, list[Round]] = {index: [] for index in able}
    lengths: dict[int, int] = {index: min(FIRST_TOKENS, _longest(each, sizes[index])) for index, each in able.items()}
    measured: dict[int, Round] = {}
    while lengths:
        done = await _round(asking, able, sizes, lengths)
        if len(done) == len(able):
            measured = done
        for index, one in done.items():
            rounds[index].append(one)
        lengths = _next(able, sizes, done)
    for index, each in able.items():
        each.report(judge_load(each.told.granted or 0, sizes[index], rounds[index]))
    await _throughput(asking, able, sizes, measured, reference)


def _why_not(climb: Climb) -> str:
    """Why a server is spared; empty = it is not."""
    if not climb.answer.verdict.passed:
        return "it gave no proper answer to a plain question"
    if not climb.told.granted:
        return "how many requests it grants is not known"
    return ""


def _sizes(able: Mapping[int, Climb]) -> dict[int, Size]:
    sizes = {index: size_of(each.told.granted or 1, each.told.tokens, each.told.page) for index, each in able.items()}
    wanted = sum(each.requests for each in sizes.values()) + 2 * len(sizes)
    possible = connections_possible(wanted)
    if possible >= wanted:
        return sizes
    most = max(1, possible // len(sizes) - 2)
    why = f"this process may open {possible} connections (ulimit -n)"
    return {index: Size(most, why) if each.requests > most else each for index, each in sizes.items()}


def _longest(climb: Climb, size: Size) -> int:
    return longest(size, climb.told.tokens, climb.told.page, climb.told.context)


async def _round(
    asking: Asking, able: Mapping[int, Climb], sizes: Mapping[int, Size], lengths: Mapping[int, int]
) -> dict[int, Round]:
    """Each of these servers under load, all at the same time."""
    done = await asyncio.gather(
        *(_put(asking, able[index], sizes[index].requests, length) for index, length in lengths.items())
    )
    return dict(zip(lengths, done, strict=True))


async def _put(asking: Asking, climb: Climb, requests: int, length: int) -> Round:
    limit = climb.time_for(climb.wanted.limits.answer)
    granted = climb.told.granted or requests
    try:
        return await put(asking, climb.subject.url, requests, length, granted=granted, limit_s=limit)
    except Exception as error:
        return Round(requests, length, faults=(f"the probe failed: {type(error).__name__}: {error}",))


def _next(able: Mapping[int, Climb], sizes: Mapping[int, Size], done: Mapping[int, Round]) -> dict[int, int]:
    """Those whose requests were not seen together yet, with the length of their next answers."""
    found = {}
    for index, each in done.items():
        climb = able[index]
        length = next_length(each, _longest(climb, sizes[index]), climb.time_for(climb.wanted.limits.answer))
        if length is not None:
            found[index] = length
    return found


async def _throughput(
    asking: Asking,
    able: Mapping[int, Climb],
    sizes: Mapping[int, Size],
    measured: Mapping[int, Round],
    reference: Reference,
) -> None:
    rates = _rates(measured)
    slow = _slow(able, rates, reference)
    if slow:
        again = await _round(asking, able, sizes, _longer(able, sizes, measured))
        rates = {**rates, **_rates(again)}
        slow &= _slow(able, rates, reference)
    total = sum(rates.values())
    for kind, members in by_kind(list(able.values())).items():
        own = {each.index: rates[each.index] for each in members if each.index in rates}
        rooflines = {each.index: _roofline(each) for each in members}
        verdicts = judge_throughput(own, rooflines, slow, reference.of(kind).tokens_per_second, total)
        for each in members:
            each.tokens_per_second = rates.get(each.index)
            bound = rooflines[each.index]
            each.roofline_share = rates[each.index] / bound if bound and each.index in rates else None
            unknown = Verdict("throughput", None, "not measured: not all requests were answered in full")
            each.report(verdicts.get(each.index, unknown))


def _longer(able: Mapping[int, Climb], sizes: Mapping[int, Size], measured: Mapping[int, Round]) -> dict[int, int]:
    """Lengths for a measurement that lasts :data:`MEASURED_S`, the same share longer for each."""
    usual = median(each.seconds for each in measured.values())
    share = min(MOST_LONGER, max(1.0, MEASURED_S / max(usual, 0.001)))
    return {
        index: max(each.tokens_each, min(int(share * each.tokens_each), _longest(able[index], sizes[index])))
        for index, each in measured.items()
    }


def _slow(able: Mapping[int, Climb], rates: Mapping[int, float], reference: Reference) -> set[int]:
    """Those that are slow among their kind. Servers on the CPU share its cores with each other and with all else, and
    say nothing about one another."""
    found: set[int] = set()
    for kind, members in by_kind([each for each in able.values() if not each.told.on_cpu]).items():
        own = {each.index: rates[each.index] for each in members if each.index in rates}
        found.update(slow_ones(own, reference.of(kind).tokens_per_second))
    return found


def _rates(rounds: Mapping[int, Round]) -> dict[int, float]:
    return {index: rate for index, each in rounds.items() if (rate := each.tokens_per_second) is not None}


def _roofline(climb: Climb) -> float | None:
    return climb.subject.expected.roofline_tokens_per_second if climb.subject.expected else None

"""throughput: tokens per second while all servers are under load, beside the sisters' and the roofline."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from statistics import median

from sm120kit.fleet.types import Verdict

SLOW = 0.75
"""Share of the median below which a server is slow. Like cards at one power limit differ by a few per cent; one that
throttles, or hangs on a narrow PCIe link, by much more."""

FEWEST = 3
"""Servers, from which on one can be told to be the slow one."""

IMPOSSIBLE = 1.0
"""Share of the roofline that nothing exceeds."""


def slow_ones(rates: Mapping[int, float], before: Sequence[float] = ()) -> tuple[int, ...]:
    """Those far below the median of all that are known, ``before`` being what servers verified earlier gave."""
    known = _known(rates, before)
    if len(known) < FEWEST:
        return ()
    return tuple(index for index, rate in rates.items() if rate < SLOW * median(known))


def _known(rates: Mapping[int, float], before: Sequence[float]) -> list[float]:
    """Of one server that is verified again, its sisters' rates are those of before."""
    return [*rates.values(), *(before if len(rates) < FEWEST else ())]


def judge_throughput(
    rates: Mapping[int, float],
    rooflines: Mapping[int, float | None],
    slow_twice: Container[int],
    before: Sequence[float],
    total: float,
) -> dict[int, Verdict]:
    """The verdicts of servers on like GPUs, by their number. ``slow_twice``: those found slow in two measurements;
    ``total``: what all servers gave together, on other GPUs too."""
    known = _known(rates, before)
    verdicts = {}
    for index, rate in rates.items():
        parts = [f"{rate:.0f} tokens/s"]
        bound = rooflines.get(index)
        share = rate / bound if bound else None
        if share is not None and share <= IMPOSSIBLE:
            parts.append(f"{share:.0%} of the roofline of {bound:.0f}")
        if len(known) > 1:
            parts.append(f"the median is {median(known):.0f}")
        if total > rate:
            parts.append(f"{total:.0f} in sum")
        evidence = ", ".join(parts)
        if index in slow_twice:
            passed: bool | None = False
            evidence = f"slow, measured twice: {rate / median(known):.0%} of the median; {evidence}"
        elif share is not None and share > IMPOSSIBLE:
            passed = None
            impossible = f"that is {share:.0%} of the roofline of {bound:.0f}, which cannot be"
            evidence = f"{evidence}; {impossible}: the plan does not fit this server"
        else:
            passed = True
        verdicts[index] = Verdict("throughput", passed, evidence)
    return verdicts

"""What whole families of checks need before there is anything to judge.

A check names its need in its decorator, as a plain word. Where the case lacks it the check does not apply, and its
file is not even loaded: a doctor that was asked about no server starts without the code that judges servers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.registry import CheckFunction, NotApplicable
from sm120kit.diagnosis.types import CannotTell, Finding
from sm120kit.snapshot.facts import Known

Lacks = Callable[[Case], bool]

NEEDS: dict[str, tuple[Lacks, str]] = {
    "server": (
        lambda case: case.request.launch is None and case.request.model is None,
        "no launch line and no model was given (doctor --model DIR -- SGLANG ARGS)",
    ),
    "launch-line": (
        lambda case: case.request.launch is None,
        "no launch line was given (doctor -- SGLANG ARGS)",
    ),
    "prediction": (
        lambda case: case.capacity is None,
        "no launch line with a model and a GPU was given (doctor --model DIR -- SGLANG ARGS)",
    ),
    "sglang": (lambda case: case.distribution("sglang") is None, "sglang is not installed"),
    "triton": (
        lambda case: not any(each.name == "triton" for each in case.snapshot.consumers),
        "Triton is not installed",
    ),
    "proofs": (lambda case: not case.proofs, "no proof was asked for (--prove)"),
    "repair": (
        lambda case: not isinstance(case.snapshot.live_view, Known),
        "this target has no repair in place",
    ),
}
"""Need → what lacks it, and the sentence that says so."""


def only_with(need: str, load: Callable[[], CheckFunction]) -> CheckFunction:
    """The check that ``load`` gives, asked for only where the case has what it needs.

    Raises:
        ValueError: there is no such need.
    """
    if need not in NEEDS:
        raise ValueError(f"there is no need {need!r}; one of {', '.join(NEEDS)}")
    lacks, reason = NEEDS[need]

    def run(case: Case) -> Iterator[Finding | CannotTell]:
        if lacks(case):
            raise NotApplicable(reason)
        yield from load()(case)

    return run

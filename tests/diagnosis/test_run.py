"""Running checks: whatever one does, the others go on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.registry import Check, NotApplicable, check
from sm120kit.diagnosis.run import run_check, run_checks
from sm120kit.diagnosis.types import CannotTell, Evidence, Finding, Outcome, Severity
from tests.builders import snapshot
from tests.reports import finding

CASE = Case(snapshot())


@check("a.found")
def finds(_case: Case) -> Iterator[Finding | CannotTell]:
    yield CannotTell("x", "unreadable")
    yield finding("")


@check("a.crashes")
def crashes(_case: Case) -> Iterator[Finding | CannotTell]:
    yield finding("")
    raise ZeroDivisionError("by design")


@check("a.not-applicable")
def has_nothing(_case: Case) -> Iterator[Finding | CannotTell]:
    yield from ()
    raise NotApplicable("no toolkit")


@check("a.unknown")
def cannot_tell(_case: Case) -> Iterator[Finding | CannotTell]:
    yield CannotTell("one", "unreadable")
    yield CannotTell("two", "unreadable")


def test_findings_get_the_id_of_their_check() -> None:
    result = run_check(finds, CASE)
    assert result.outcome is Outcome.FOUND
    assert [each.check for each in result.findings] == ["a.found"]
    assert result.unknowns == (CannotTell("x", "unreadable"),)


def test_a_crash_is_contained_and_keeps_what_was_found_before() -> None:
    results = run_checks([crashes, has_nothing, cannot_tell], CASE)
    assert [each.outcome for each in results] == [Outcome.CRASHED, Outcome.NOT_APPLICABLE, Outcome.UNKNOWN]
    assert results[0].reason == "ZeroDivisionError: by design"
    assert "by design" in results[0].traceback
    assert len(results[0].findings) == 1
    assert results[1].reason == "no toolkit"
    assert results[2].reason == "unreadable"


def _yielding(*items: Any) -> Check:
    return Check("a.wrong", lambda _case: iter(items))


UNTYPED: Any = Finding
"""What a check file may call it that no type checker has seen."""


@pytest.mark.parametrize(
    "item",
    [
        None,
        "a sentence",
        UNTYPED("", Severity.ERROR, "s", "m", (Evidence("t"),), remedies="pip install x"),
        UNTYPED("", "fatal", "s", "m", (Evidence("t"),)),
        UNTYPED("", Severity.ERROR, "s", "m", ("text",)),
    ],
)
def test_a_check_that_yields_something_else_crashes(item: Any) -> None:
    assert run_check(_yielding(item), CASE).outcome is Outcome.CRASHED


def test_a_check_that_is_no_generator_crashes() -> None:
    def nothing(_case: Case) -> Any:
        return None

    assert run_check(Check("a.none", nothing), CASE).outcome is Outcome.CRASHED


def test_an_id_must_be_family_and_name() -> None:
    with pytest.raises(ValueError, match=r"use family\.name"):
        check("NoFamily")

"""Walks every data case of every check."""

from __future__ import annotations

import re

import pytest

from sm120kit.diagnosis.catalogue import PAGE_HEADINGS, read_catalogue
from sm120kit.diagnosis.registry import Check
from sm120kit.diagnosis.run import run_check
from tests.cases.harness import DataCase, read_cases

CHECKS = read_catalogue().checks
CASES = read_cases()


@pytest.mark.parametrize(
    ("check", "case"),
    [
        pytest.param(CHECKS[check_id], case, id=f"{check_id}: {case.name}")
        for check_id, cases in CASES.items()
        for case in cases
    ],
)
def test_case(check: Check, case: DataCase) -> None:
    result = run_check(check, case.case)
    assert result.outcome is case.outcome, f"{result.reason}\n{result.traceback}\n{result.findings}"
    left = list(result.findings)
    for expected in case.expect:
        fitting = [finding for finding in left if expected.fits(finding)]
        assert fitting, f"no finding fits {expected}; found {result.findings}"
        left.remove(fitting[0])
    assert not left, f"not expected: {left}"
    for found in result.findings:
        assert found.remedies, f"{found.check} names no remedy for {found.message!r}"


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
def test_every_check_has_its_kinds_of_cases(check: Check) -> None:
    kinds = {case.kind for case in CASES.get(check.id, [])}
    assert kinds >= {"healthy", "broken", "look-alike"}, f"{check.id} has only {sorted(kinds)}"
    assert kinds & {"unknown", "not-applicable"}, f"{check.id} has no case in which too little is known"


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
def test_every_check_has_a_whole_page(check: Check) -> None:
    headings = re.findall(r"^## (.+)$", check.page, re.MULTILINE)
    assert tuple(headings) == PAGE_HEADINGS
    assert len(check.title) <= 120


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
def test_signatures_match_their_example_and_not_their_look_alike(check: Check) -> None:
    for signature in check.signatures:
        pattern = re.compile(signature.pattern)
        assert pattern.search(signature.example), signature.pattern
        assert not pattern.search(signature.look_alike), signature.pattern
        assert signature.source

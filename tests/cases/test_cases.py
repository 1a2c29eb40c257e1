"""Walks every data case of every check."""

from __future__ import annotations

import re

import pytest

from sm120kit.diagnosis.catalogue import PAGE_HEADINGS, read_catalogue
from sm120kit.diagnosis.logs.literals import required_words
from sm120kit.diagnosis.logs.templates import filled
from sm120kit.diagnosis.logs.told import ARGUMENTS
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.diagnosis.run import run_check
from tests.cases.harness import DataCase, read_cases

CATALOGUE = read_catalogue()
CHECKS = CATALOGUE.checks
ENTRIES = CATALOGUE.entries
CASES = read_cases()

_TOLD = ("sglang_version", "torch_version", "python_version")


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
        # Reports write that word themselves, before each remedy but the first.
        assert not any(remedy.text.startswith("Or ") for remedy in found.remedies)


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
def test_every_check_has_its_kinds_of_cases(check: Check) -> None:
    kinds = {case.kind for case in CASES.get(check.id, [])}
    assert kinds >= {"healthy", "broken", "look-alike"}, f"{check.id} has only {sorted(kinds)}"
    assert kinds & {"unknown", "not-applicable"}, f"{check.id} has no case in which too little is known"


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
def test_every_check_and_failure_has_a_whole_page(entry: Check | LogFailure) -> None:
    headings = re.findall(r"^## (.+)$", entry.page, re.MULTILINE)
    assert tuple(headings) == PAGE_HEADINGS
    assert len(entry.title) <= 120


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
def test_signatures_match_their_example_and_not_their_look_alike(entry: Check | LogFailure) -> None:
    assert entry.signatures or isinstance(entry, Check) or entry.of_launch
    for signature in entry.signatures:
        pattern = re.compile(signature.pattern)
        assert pattern.search(signature.example), signature.pattern
        assert not pattern.search(signature.look_alike), signature.pattern
        assert signature.source
        assert required_words(signature.pattern), f"every line of a log would be tried with {signature.pattern}"


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
def test_messages_and_remedies_name_groups_that_are_there(entry: Check | LogFailure) -> None:
    for signature in entry.signatures:
        names = (*re.compile(signature.pattern).groupindex, *ARGUMENTS, *_TOLD)
        texts = [signature.message]
        for remedy in signature.remedies:
            assert not remedy.text.startswith("Or ")
            texts += [remedy.text, *remedy.commands]
        for text in texts:
            assert filled(text, dict.fromkeys(names, "x")) is not None, text
        if signature.rank != "wrapper":
            assert signature.message or entry.title
            assert not signature.message.endswith(".")

"""What came and what went between two reports."""

from __future__ import annotations

import pytest

from sm120kit.diagnosis.compare import compare
from sm120kit.diagnosis.types import CheckResult, Severity, Suppression
from tests.reports import finding, found, ok, report

ERROR = found(finding())
WARNING = found(finding(severity=Severity.WARNING))
NOTE = found(finding(severity=Severity.NOTE))


@pytest.mark.parametrize(
    ("before", "after", "came", "went", "worse"),
    [
        (ok(), ok(), 0, 0, False),
        (ERROR, ERROR, 0, 0, False),
        (ok(), ERROR, 1, 0, True),
        (ok(), WARNING, 1, 0, True),
        (ok(), NOTE, 1, 0, False),
        (ERROR, ok(), 0, 1, False),
        (WARNING, ERROR, 1, 1, True),
        (ERROR, WARNING, 1, 1, False),
        (NOTE, WARNING, 1, 1, True),
        (WARNING, NOTE, 1, 1, False),
        (ERROR, found(finding(message="said otherwise")), 0, 0, False),
        (ERROR, found(finding(subject="/other")), 1, 1, True),
    ],
)
def test_what_came_and_went(before: CheckResult, after: CheckResult, came: int, went: int, worse: bool) -> None:
    made = compare(report(before), report(after), ())
    assert (len(made.appeared), len(made.gone), made.worse) == (came, went, worse)


def test_suppressed_findings_neither_come_nor_go() -> None:
    lines = [Suppression("toolkit.*", "known")]
    made = compare(report(ok(), suppressions=lines), report(ERROR, suppressions=lines), ())
    assert (made.appeared, made.gone, made.worse) == ((), (), False)

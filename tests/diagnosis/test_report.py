"""How results become a report: order, suppression, verdict, exit code."""

from __future__ import annotations

import pytest

from sm120kit.diagnosis.case import Case, NamedGpu, Request
from sm120kit.diagnosis.report import exit_code, fingerprint, make_report
from sm120kit.diagnosis.types import CheckResult, FailOn, Severity, Suppression
from sm120kit.errors import FINDINGS, GOOD, OWN_FAULT
from sm120kit.snapshot.facts import Unknown
from tests.builders import driver, flashinfer, host_without_gpu, known, named, no_driver, snapshot, toolkit
from tests.reports import TODAY, crashed, finding, found, not_applicable, ok, report, unknown

ERROR = found(finding())
WARNING = found(finding("driver.slow", Severity.WARNING))
NOTE = found(finding("torch.odd", Severity.NOTE))


def test_worst_comes_first_and_suppressed_last() -> None:
    lines = [Suppression("toolkit.broken", "known", "/other")]
    both = found(finding(), finding(subject="/other"))
    made = report(NOTE, WARNING, both, suppressions=lines)
    assert [(each.severity.value, each.suppressed) for each in made.findings] == [
        ("error", False),
        ("warning", False),
        ("note", False),
        ("error", True),
    ]
    assert made.findings[-1].suppression_reason == "known"
    assert (made.summary.errors, made.summary.warnings, made.summary.notes, made.summary.suppressed) == (1, 1, 1, 1)


def test_the_fingerprint_is_of_check_and_subject_alone() -> None:
    expected = "234d800d03764614"
    assert fingerprint("toolkit.broken", "/opt/cuda") == expected
    assert report(found(finding(message="said otherwise"))).findings[0].fingerprint == expected
    assert fingerprint("toolkit.broken", "/opt/cuda2") != expected


def test_a_subject_that_is_no_utf8_keeps_its_fingerprint_when_saved_and_loaded() -> None:
    assert fingerprint("a.b", "/opt/\udce9") == fingerprint("a.b", "/opt/\\xe9")


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        ((ok(),), "good"),
        ((ok(), NOTE), "good"),
        ((ok(), not_applicable()), "good"),
        ((WARNING, unknown()), "findings"),
        ((ok(), unknown()), "unknown"),
        ((ERROR, crashed()), "crashed"),
    ],
)
def test_verdict(results: tuple[CheckResult, ...], verdict: str) -> None:
    assert report(*results).summary.verdict == verdict


def test_suppressed_findings_leave_a_good_verdict() -> None:
    made = report(ERROR, suppressions=[Suppression("toolkit.*", "known")])
    assert made.summary.verdict == "good"
    assert exit_code(made, "warning") == GOOD


def test_nothing_to_look_at_is_never_good() -> None:
    bare = snapshot(toolkits=(), link_probes=(), driver=no_driver(), host=host_without_gpu(), distributions=known(()))
    made = report(not_applicable(), snapshot=bare)
    assert made.summary.verdict == "unknown"
    gpu, tree = made.summary.doubts
    assert "No GPU could be asked (no libnvidia-ml.so.1 on the loader's path)" in gpu
    assert "No CUDA toolkit was judged" in tree
    assert exit_code(made, "error") == GOOD
    assert exit_code(made, "unknown") == FINDINGS


def test_a_toolkit_that_nobody_takes_is_named_as_not_judged() -> None:
    (doubt,) = report(ok(), snapshot=snapshot(toolkits=(toolkit("/usr/local/cuda-13.2"),))).summary.doubts
    assert "--cuda-home /usr/local/cuda-13.2" in doubt


def test_consumers_without_a_toolkit_are_no_doubt() -> None:
    assert not report(ok(), snapshot=snapshot(toolkits=(), consumers=(flashinfer(home=None),))).summary.doubts


def test_a_driver_without_a_usable_gpu_is_a_doubt() -> None:
    taken = snapshot(consumers=(flashinfer(),), driver=driver(gpus=()))
    assert "NVML lists no usable GPU" in report(ok(), snapshot=taken).summary.doubts[0]


def test_packages_that_cannot_be_listed_are_a_doubt() -> None:
    taken = snapshot(consumers=(flashinfer(),), distributions=Unknown("/srv/site is not readable"))
    assert "/srv/site is not readable" in report(ok(), snapshot=taken).summary.doubts[0]


def test_named_hardware_removes_the_doubt_and_is_said() -> None:
    taken = snapshot(consumers=(flashinfer(),), driver=no_driver(), host=host_without_gpu())
    case = Case(taken, Request((NamedGpu("rtx-pro-6000", "12.0", 8),)))
    made = make_report(case, [ok()], today=TODAY)
    assert not made.summary.doubts
    assert made.target == "/srv/venv/bin/python (--python), judged for 8 x rtx-pro-6000"


@pytest.mark.parametrize(
    ("results", "codes"),
    [
        ((ok(),), (0, 0, 0, 0)),
        ((NOTE,), (0, 0, 0, 0)),
        ((WARNING,), (0, 1, 1, 0)),
        ((ERROR,), (1, 1, 1, 0)),
        ((unknown(),), (0, 0, 1, 0)),
        ((ERROR, crashed()), (3, 3, 3, 3)),
    ],
)
def test_exit_codes(results: tuple[CheckResult, ...], codes: tuple[int, ...]) -> None:
    levels: tuple[FailOn, ...] = ("error", "warning", "unknown", "never")
    made = report(*results)
    assert tuple(exit_code(made, level) for level in levels) == codes
    assert OWN_FAULT == 3


def test_an_expired_suppression_counts_no_more_and_is_named() -> None:
    line = Suppression("toolkit.broken", "until the update", expires="2026-11-28")
    made = report(ERROR, suppressions=[line])
    assert made.summary.errors == 1
    assert made.expired_suppressions == (line,)
    assert made.unused_suppressions == ()


def test_an_unused_suppression_is_named_unless_its_check_gave_no_answer() -> None:
    used = Suppression("toolkit.broken", "r")
    elsewhere = Suppression("toolkit.broken", "r", "/not/here")
    no_such_check = Suppression("toolkit.brokn", "r")
    silent = [Suppression("driver.unclear", "r"), Suppression("torch.absent", "r"), Suppression("toolkit.faulty", "r")]
    results = (ERROR, unknown(), not_applicable(), crashed())
    made = report(*results, suppressions=[used, elsewhere, no_such_check, *silent])
    assert made.unused_suppressions == (elsewhere, no_such_check)


def test_a_suppression_of_a_check_that_was_left_out_is_not_unused() -> None:
    lines = [Suppression("toolkit.broken", "r")]
    made = make_report(Case(named()), [ok()], today=TODAY, suppressions=lines, not_run={"toolkit.broken"})
    assert made.unused_suppressions == ()

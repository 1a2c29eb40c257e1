"""Reports made by hand, for everything that shows or judges one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.report import make_report
from sm120kit.diagnosis.types import (
    CannotTell,
    CheckResult,
    Evidence,
    Finding,
    Manual,
    Outcome,
    Remedy,
    Repair,
    Report,
    Severity,
    Suppression,
)
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import named

TODAY = date(2026, 11, 29)


def finding(
    check: str = "toolkit.broken",
    severity: Severity = Severity.ERROR,
    subject: str = "/opt/cuda",
    message: str = "a part of /opt/cuda is missing",
    evidence: Sequence[Evidence] = (Evidence("no cicc", "/opt/cuda/nvvm/bin/cicc", 0, "nvidia-nvvm 13.0.88"),),
    remedies: Sequence[Remedy] = (
        Repair("Compose a toolkit view", "compose_view", {"cuda_home": "/opt/cuda"}),
        Manual("Install the wheel that holds it", ("pip install nvidia-nvvm==13.0.88",)),
    ),
) -> Finding:
    """One error with evidence and both kinds of remedy."""
    return Finding(check, severity, subject, message, tuple(evidence), tuple(remedies))


def found(*findings: Finding) -> CheckResult:
    """The result of a check that found these, all of one id."""
    return CheckResult(findings[0].check, Outcome.FOUND, findings=findings)


def ok(check: str = "toolkit.well") -> CheckResult:
    """The result of a check that looked and found nothing."""
    return CheckResult(check, Outcome.OK)


def unknown(check: str = "driver.unclear", subject: str = "driver", reason: str = "NVML did not answer") -> CheckResult:
    """The result of a check that could not tell."""
    return CheckResult(check, Outcome.UNKNOWN, reason, unknowns=(CannotTell(subject, reason),))


def not_applicable(check: str = "torch.absent", reason: str = "torch is not installed") -> CheckResult:
    """The result of a check that had nothing to judge."""
    return CheckResult(check, Outcome.NOT_APPLICABLE, reason)


def crashed(check: str = "toolkit.faulty") -> CheckResult:
    """The result of a check that raised."""
    return CheckResult(check, Outcome.CRASHED, "KeyError: 'nvcc'", traceback="Traceback (most recent call last): ...")


def report(*results: CheckResult, snapshot: Snapshot | None = None, suppressions: Sequence[Suppression] = ()) -> Report:
    """The report of these results, about a healthy machine with a GPU and a named toolkit."""
    return make_report(Case(snapshot or named()), results, today=TODAY, suppressions=suppressions, verbose=True)

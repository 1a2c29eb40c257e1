"""Makes the report out of what the checks said: worst first, suppressions applied, and a verdict that is earned."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from fnmatch import fnmatchcase
from typing import Literal

from msgspec.structs import replace

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.suppression import covering, covers, is_expired
from sm120kit.diagnosis.types import (
    SCHEMA,
    CheckLine,
    CheckResult,
    FactGroup,
    FailOn,
    Finding,
    Manual,
    Outcome,
    Remedy,
    Report,
    ReportedFinding,
    Severity,
    Summary,
    Suppression,
)
from sm120kit.errors import FINDINGS, GOOD, OWN_FAULT
from sm120kit.snapshot.facts import Unknown
from sm120kit.text import copyable, utf8_text
from sm120kit.version import __version__


def make_report(
    case: Case,
    results: Sequence[CheckResult],
    *,
    today: date,
    suppressions: Sequence[Suppression] = (),
    not_run: Collection[str] = (),
    verbose: bool = False,
) -> Report:
    """The whole report of one diagnosis; ``verbose``: with all that was looked at.

    ``not_run`` are ids of checks that were left out: a suppression of one of those is not called unused.
    """
    active = [each for each in suppressions if not is_expired(each, today)]
    findings = tuple(
        sorted(
            (_reported(finding, active) for result in results for finding in result.findings),
            key=lambda finding: (finding.suppressed, -finding.severity.rank),
        )
    )
    doubts = doubts_about(case)
    return Report(
        schema=SCHEMA,
        tool_version=__version__,
        target=target_sentence(case),
        findings=findings,
        checks=tuple(CheckLine(each.check, each.outcome, each.reason, each.unknowns) for each in results),
        summary=_summary(findings, results, doubts),
        expired_suppressions=tuple(each for each in suppressions if is_expired(each, today)),
        unused_suppressions=tuple(each for each in active if _is_unused(each, results, not_run)),
        looked_at=_looked_at(case) if verbose else (),
    )


def _looked_at(case: Case) -> tuple[FactGroup, ...]:
    from sm120kit.diagnosis.looked_at import looked_at

    return looked_at(case)


def exit_code(report: Report, fail_on: FailOn) -> int:
    """What the command ends with: a crashed check is our own fault whatever was found."""
    if report.summary.crashed:
        return OWN_FAULT
    if any(finding.severity.reaches(fail_on) for finding in report.findings if not finding.suppressed):
        return FINDINGS
    if fail_on == "unknown" and (report.summary.verdict == "unknown" or report.summary.unknown):
        return FINDINGS
    return GOOD


def fingerprint(check_id: str, subject: str) -> str:
    """16 hexadecimal digits that stay the same as long as check and subject do: FNV-1a of both.

    (An identifier, not a seal: hashlib would load OpenSSL, which costs more than all the findings of a report.)
    """
    digest = 0xCBF29CE484222325
    for byte in f"{check_id}\0{utf8_text(subject)}".encode():
        digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{digest:016x}"


def _reported(finding: Finding, suppressions: Sequence[Suppression]) -> ReportedFinding:
    suppression = covering(suppressions, finding.check, finding.subject)
    return ReportedFinding(
        check=finding.check,
        severity=finding.severity,
        subject=finding.subject,
        message=finding.message,
        evidence=tuple(dict.fromkeys(finding.evidence)),
        remedies=tuple(map(_copyable, finding.remedies)),
        fingerprint=fingerprint(finding.check, finding.subject),
        suppressed=suppression is not None,
        suppression_reason=suppression.reason if suppression else "",
    )


def _is_unused(suppression: Suppression, results: Sequence[CheckResult], not_run: Collection[str]) -> bool:
    """Whether it covers nothing, although every check that it names has run and came to an answer."""
    if any(fnmatchcase(check_id, suppression.check) for check_id in not_run):
        return False
    for result in results:
        if not fnmatchcase(result.check, suppression.check):
            continue
        if result.outcome in (Outcome.UNKNOWN, Outcome.CRASHED, Outcome.NOT_APPLICABLE):
            return False
        if any(covers(suppression, result.check, finding.subject) for finding in result.findings):
            return False
    return True


def _copyable(remedy: Remedy) -> Remedy:
    """The remedy with commands that JSON can hold too: a path is bytes, and need not be UTF-8."""
    return replace(remedy, commands=tuple(map(copyable, remedy.commands))) if isinstance(remedy, Manual) else remedy


def target_sentence(case: Case) -> str:
    """Which target was judged, and why that one."""
    target = case.snapshot.target
    parts = [f"{target.path or target.root} ({target.why})"]
    if target.root and target.root != target.path:
        parts.append(f"inside {target.root}")
    if target.cuda_home:
        parts.append(f"with --cuda-home {target.cuda_home}")
    if case.request.gpus:
        parts.append("judged for " + ", ".join(f"{gpu.count} x {gpu.name}" for gpu in case.request.gpus))
    return ", ".join(parts)


def doubts_about(case: Case) -> tuple[str, ...]:
    """What was not there to be judged, so that silence about it is not taken for health."""
    doubts = []
    snapshot = case.snapshot
    if isinstance(snapshot.distributions, Unknown):
        doubts.append(f"The packages of the target could not be listed: {snapshot.distributions.reason}.")
    capabilities = case.compute_capabilities
    if isinstance(capabilities, Unknown):
        doubts.append(
            f"No GPU could be asked ({capabilities.reason}): nothing is known about its architecture and driver. "
            "Name the hardware with --gpu to have the target judged for it."
        )
    if not case.toolkits and not snapshot.consumers:
        on_disk = [toolkit.home for toolkit in snapshot.toolkits if toolkit.has_nvcc]
        doubts.append(
            "No CUDA toolkit was judged: the target holds nothing that takes one (torch, FlashInfer, SGLang, ...)"
            + (f". To judge one that lies on disk: --cuda-home {on_disk[0]}" if on_disk else ", and none was found.")
        )
    return tuple(doubts)


def _summary(findings: Sequence[ReportedFinding], results: Sequence[CheckResult], doubts: tuple[str, ...]) -> Summary:
    def count(severity: Severity) -> int:
        return sum(finding.severity is severity and not finding.suppressed for finding in findings)

    errors, warnings = count(Severity.ERROR), count(Severity.WARNING)
    unknown = sum(bool(result.unknowns) for result in results)
    crashed = sum(result.outcome is Outcome.CRASHED for result in results)
    verdict: Literal["good", "findings", "unknown", "crashed"] = "good"
    if crashed:
        verdict = "crashed"
    elif errors or warnings:
        verdict = "findings"
    elif doubts or unknown:
        verdict = "unknown"
    return Summary(
        errors=errors,
        warnings=warnings,
        notes=count(Severity.NOTE),
        suppressed=sum(finding.suppressed for finding in findings),
        unknown=unknown,
        crashed=crashed,
        checks=len(results),
        verdict=verdict,
        doubts=doubts,
    )

"""What came and what went between two reports: the answer to "it worked yesterday"."""

from __future__ import annotations

from sm120kit.diagnosis.types import COMPARISON_SCHEMA, Comparison, Report, ReportedFinding, Severity
from sm120kit.snapshot.types.snapshot import Change
from sm120kit.version import __version__


def compare(before: Report, after: Report, changes: tuple[Change, ...], *, two_targets: bool = False) -> Comparison:
    """Findings are the same when check and subject are; one whose severity changed came and went.

    Suppressed ones are left out. Only a new error or warning, or a rise to one, makes it worse.
    """
    old, new = _by_fingerprint(before), _by_fingerprint(after)
    appeared = [each for key, each in new.items() if key not in old or old[key].severity is not each.severity]
    gone = [each for key, each in old.items() if key not in new or new[key].severity is not each.severity]
    return Comparison(
        schema=COMPARISON_SCHEMA,
        tool_version=__version__,
        before=before.target,
        after=after.target,
        two_targets=two_targets,
        changes=changes,
        appeared=tuple(appeared),
        gone=tuple(gone),
        worse=any(
            each.severity is not Severity.NOTE
            and (each.fingerprint not in old or old[each.fingerprint].severity.rank < each.severity.rank)
            for each in appeared
        ),
    )


def _by_fingerprint(report: Report) -> dict[str, ReportedFinding]:
    """Live findings, worst first; of two about the same subject the worse one stands."""
    found: dict[str, ReportedFinding] = {}
    for finding in report.findings:
        if not finding.suppressed:
            found.setdefault(finding.fingerprint, finding)
    return found

"""The report for people: worst first, evidence and remedy under each finding, quiet when all is well."""

from __future__ import annotations

from sm120kit.diagnosis.types import Evidence, Finding, Outcome, Repair, Report, ReportedFinding, Severity
from sm120kit.report.lines import Lines, Row
from sm120kit.report.remedies import THIS_ENVIRONMENT, Again, write_remedies
from sm120kit.report.wording import by_reason, counted, headline, open_questions, suppression_remarks, tally, unknowns

_BODY = 9
"""Column in which the text beside a label begins."""

_MOST_EVIDENCE = 4
"""Pieces of evidence of a warning that are shown where there are many: errors must not be buried by it."""

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold blue"}

_VERDICT_STYLES = {"good": "bold green", "unknown": "bold", "findings": "bold", "crashed": "bold magenta"}


def render_terminal(
    report: Report,
    *,
    width: int = 100,
    colour: bool = False,
    verbose: bool = False,
    encoding: str = "utf-8",
    again: Again = THIS_ENVIRONMENT,
) -> str:
    """The report as text of at most ``width`` columns; paths and commands are never broken.

    ``again`` are the commands that go on from here.
    """
    lines = Lines(width, encoding)
    lines.prose(report.target, style="dim")
    live = [finding for finding in report.findings if not finding.suppressed]
    for finding in live:
        lines.blank()
        most = 0 if verbose or finding.severity is Severity.ERROR else _MOST_EVIDENCE
        write_finding(lines, finding, whole=verbose or finding.severity is not Severity.NOTE, most=most)
    _write_suppressed(lines, report)
    _write_open_questions(lines, report, verbose=verbose)
    if verbose:
        _write_quiet_checks(lines, report)
        _write_looked_at(lines, report)
    _write_summary(lines, report, live, again, verbose=verbose)
    return lines.render(colour=colour)


def write_finding(lines: Lines, finding: ReportedFinding | Finding, *, whole: bool, most: int = 0) -> None:
    """One finding with its evidence, or ``most`` pieces of it where these are many, and its remedies; not ``whole``:
    its message and id alone."""
    lines.prose(
        finding.message,
        indent=_BODY,
        style="bold" if whole else "",
        label=finding.severity.value,
        label_style=_STYLES[finding.severity],
    )
    lines.raw(finding.check, _BODY, "dim")
    if not whole:
        return
    lines.blank()
    shown = finding.evidence[:most] if 0 < most < len(finding.evidence) - 1 else finding.evidence
    rows = [row for evidence in shown for row in _evidence_rows(evidence)]
    if left := len(finding.evidence) - len(shown):
        rows.append(Row(f"and {left} more, with doctor -v"))
    lines.table(rows, indent=_BODY, label="  seen", label_style="dim")
    write_remedies(lines, finding.remedies, indent=_BODY)


def _evidence_rows(evidence: Evidence) -> list[Row]:
    where = evidence.where + (f":{evidence.line}" if evidence.line else "")
    first, *rest = [line for line in evidence.text.split("\n") if line.strip()] or [""]
    rows = [Row(first, where, f"from {evidence.owner}" if evidence.owner else "")]
    return rows + [Row(line) for line in rest]


def _write_suppressed(lines: Lines, report: Report) -> None:
    """What somebody decided to live with, and why: one paragraph each, without evidence."""
    for finding in report.findings:
        if finding.suppressed:
            lines.blank()
            message = f"suppressed: {finding.message}"
            lines.prose(message, indent=_BODY, label=finding.severity.value, style="dim", label_style="dim")
            lines.prose(f"{finding.check}, because: {finding.suppression_reason}", indent=_BODY, style="dim")


def _write_open_questions(lines: Lines, report: Report, *, verbose: bool) -> None:
    crashed = [line for line in report.checks if line.outcome is Outcome.CRASHED]
    for line in crashed:
        lines.blank()
        lines.prose(line.reason, indent=_BODY, label="crashed", label_style="bold magenta")
        lines.raw(line.check, _BODY, "dim")
    questions = {**dict.fromkeys(report.summary.doubts, ()), **unknowns(report)} if verbose else open_questions(report)
    for sentence, ids in questions.items():
        lines.blank()
        lines.prose(sentence, indent=_BODY, label="unknown", label_style="bold")
        if ids:
            lines.prose(", ".join(ids), indent=_BODY, style="dim")
    for remark in suppression_remarks(report):
        lines.blank()
        lines.prose(remark, indent=_BODY, label="note", label_style=_STYLES[Severity.NOTE])


def _write_quiet_checks(lines: Lines, report: Report) -> None:
    well = [line.check for line in report.checks if line.outcome is Outcome.OK]
    if well:
        _title(lines, "Looked at, and well")
        lines.prose(", ".join(well), indent=2)
    apart = by_reason(report.checks, Outcome.NOT_APPLICABLE)
    if apart:
        _title(lines, "Did not apply")
        lines.table([Row(check, reason) for reason, ids in apart.items() for check in ids], indent=2)


def _write_looked_at(lines: Lines, report: Report) -> None:
    for group in report.looked_at:
        _title(lines, group.title)
        lines.table([Row(fact.label, fact.value, fact.where) for fact in group.facts], indent=2)


def _title(lines: Lines, text: str) -> None:
    lines.blank()
    lines.prose(text, style="bold underline")


def _write_summary(lines: Lines, report: Report, live: list[ReportedFinding], again: Again, *, verbose: bool) -> None:
    summary = report.summary
    if report.findings or summary.verdict != "good" or verbose:
        lines.blank()
    lines.prose(f"{headline(report)} ({tally(report)}).", style=_VERDICT_STYLES[summary.verdict])
    steps = []
    # What a note is about was repaired already, or needs no repair.
    pressing = [finding for finding in live if finding.severity is not Severity.NOTE]
    if any(isinstance(remedy, Repair) for finding in pressing or live for remedy in finding.remedies):
        steps.append(again.repairing())
    if live:
        steps.append((f"sm120kit explain {live[0].check}{again.checks}", "what that means and where it comes from"))
    if not verbose and (live or summary.verdict != "good"):
        notes = f"the evidence of {counted(summary.notes, 'note')}, and " if summary.notes else ""
        steps.append((again.examine, f"{notes}all that was looked at"))
    lines.steps(steps)

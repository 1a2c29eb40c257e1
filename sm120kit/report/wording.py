"""Counts and summaries in words: the same in every output."""

from __future__ import annotations

from sm120kit.diagnosis.types import CheckLine, Outcome, Report, Summary, Suppression


def counted(number: int, word: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{number} {word}" + ("" if number == 1 else "s")


def headline(report: Report) -> str:
    """The verdict in one sentence, without its full stop. It never says more than was seen."""
    summary = report.summary
    if summary.verdict == "crashed":
        return f"{counted(summary.crashed, 'check')} stopped by a fault in its code; the others went on"
    if summary.verdict == "findings":
        return f"Found {_wrong(summary)}"
    if summary.verdict == "unknown":
        return "Unknown: nothing wrong was seen, and not everything could be judged"
    return "Good: nothing wrong was found" + (" but what is suppressed" if summary.suppressed else "")


def tally(report: Report) -> str:
    """What the verdict rests on, in one line."""
    summary = report.summary
    pieces = [counted(summary.checks, "check")]
    if summary.verdict == "crashed" and (summary.errors or summary.warnings):
        pieces.append(_wrong(summary))
    if summary.notes:
        pieces.append(counted(summary.notes, "note"))
    if summary.unknown:
        pieces.append(f"{summary.unknown} could not tell")
    skipped = sum(line.outcome is Outcome.NOT_APPLICABLE for line in report.checks)
    if skipped:
        pieces.append(f"{skipped} did not apply")
    if summary.suppressed:
        pieces.append(f"{summary.suppressed} suppressed")
    return ", ".join(pieces)


def _wrong(summary: Summary) -> str:
    pieces = [counted(summary.errors, "error")] if summary.errors else []
    pieces += [counted(summary.warnings, "warning")] if summary.warnings else []
    return " and ".join(pieces)


def unknowns(report: Report) -> dict[str, list[str]]:
    """What could not be told, as sentences, each with the ids of the checks that say so."""
    found: dict[str, list[str]] = {}
    for line in report.checks:
        for unknown in line.unknowns:
            about = "" if not unknown.subject or unknown.subject in unknown.reason else f"{unknown.subject}: "
            ids = found.setdefault(about + unknown.reason, [])
            if line.check not in ids:
                ids.append(line.check)
    return found


def open_questions(report: Report) -> dict[str, list[str]]:
    """Doubts and :func:`unknowns` together; what goes back to the same reason as a doubt stands under that doubt."""
    found: dict[str, list[str]] = {doubt: [] for doubt in report.summary.doubts}
    for sentence, ids in unknowns(report).items():
        root = sentence.rpartition(": ")[2]
        place = next((doubt for doubt in report.summary.doubts if root in doubt), sentence)
        told = found.setdefault(place, [])
        told += [check_id for check_id in ids if check_id not in told]
    return found


def by_reason(lines: tuple[CheckLine, ...], outcome: Outcome) -> dict[str, list[str]]:
    """Ids of the checks of that outcome by the reason they give."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.outcome is outcome:
            found.setdefault(line.reason, []).append(line.check)
    return found


def suppression_remarks(report: Report) -> list[str]:
    """Sentences about lines of the suppression file that no longer do what they were written for."""
    return [
        f"Suppression of {_named(each)} ended on {each.expires}; its findings count again. It was: {each.reason}"
        for each in report.expired_suppressions
    ] + [
        f"Suppression of {_named(each)} covers nothing here. It is: {each.reason}"
        for each in report.unused_suppressions
    ]


def _named(suppression: Suppression) -> str:
    return suppression.check + ("" if suppression.subject == "*" else f" about {suppression.subject}")

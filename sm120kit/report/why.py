"""What a log shows, for people: the cause first, the lines that prove it, what to do."""

from __future__ import annotations

import shlex

from sm120kit.diagnosis.logs.types import STANDARD_INPUT, Cause, LogLine, OnTarget, Why
from sm120kit.diagnosis.types import Outcome, Repair
from sm120kit.report.lines import Lines, Row
from sm120kit.report.remedies import THIS_ENVIRONMENT, Again, write_remedies
from sm120kit.report.wording import counted

_BODY = 9
"""Column in which the text beside a label begins."""

_LABELS = {"cause": "cause", "consequence": "follows", "limit": "limit", "stage": "stopped"}

_STYLES = {"cause": "bold red", "consequence": "bold yellow", "limit": "bold blue", "stage": "bold yellow"}

_HEADLINES = {
    "nothing-wrong": ("Nothing wrong in this log", "bold green"),
    "known": ("", "bold"),
    "not-ready": ("No error stands in this log, and the server was not ready where it ends", "bold yellow"),
    "not-known": ("Something failed, and no known failure shows in this log", "bold magenta"),
}


def render_why(
    read: Why, *, width: int = 100, colour: bool = False, encoding: str = "utf-8", again: Again = THIS_ENVIRONMENT
) -> str:
    """The answer as text of at most ``width`` columns; lines of the log and commands are never broken.

    ``again`` are the commands that go on from here.
    """
    lines = Lines(width, encoding)
    lines.prose(_extent(read), style="dim")
    if read.target:
        lines.prose(read.target, style="dim")
    for cause in (*read.causes, *([read.stopped] if read.stopped else ()), *read.limits):
        lines.blank()
        _write_cause(lines, cause, whole=cause.rank != "limit" or not read.causes)
    _write_lines(lines, "Lines that look like the cause:", read.suspects)
    if not read.causes:
        _write_lines(lines, "Lines that only report that something failed:", read.wrappers)
    lines.blank()
    _write_summary(lines, read, again)
    if read.issue:
        lines.blank()
        lines.prose("To ask others with; secrets are replaced, look through it all the same:", style="bold")
        lines.blank()
        for line in read.issue.rstrip("\n").split("\n"):
            lines.raw(line, 2)
    return lines.render(colour=colour)


def _extent(read: Why) -> str:
    told = ", ".join(f"{seen.package} {seen.version}{'' if seen.exact else '?'}" for seen in read.versions)
    cut = f"; {read.incomplete}" if read.incomplete else ""
    coded = f" of {read.encoding}" if read.encoding else ""
    return f"{read.log}: {counted(read.lines, 'line')}{coded}{cut}" + (f". It tells {told}" if told else "")


def _write_cause(lines: Lines, cause: Cause, *, whole: bool) -> None:
    """One cause with its lines and remedies; not ``whole``: its message and id alone."""
    style = _STYLES[cause.rank]
    lines.prose(cause.message, indent=_BODY, style="bold", label=_LABELS[cause.rank], label_style=style)
    lines.raw(cause.check, _BODY, "dim")
    if not whole:
        return
    lines.blank()
    first = LogLine(cause.line, cause.text, cause.process)
    for number, line in enumerate((first, *cause.evidence)):
        lines.prose(_in_log(line), indent=_BODY, label="  seen" if number == 0 else "", label_style="dim")
    if cause.times > 1 + len(cause.evidence) or len(cause.processes) > 1:
        who = f", written by {', '.join(cause.processes)}" if cause.processes else ""
        lines.prose(f"{counted(cause.times, 'line')} in all{who}", indent=_BODY, style="dim")
    if cause.on_target is not None:
        _write_on_target(lines, cause.on_target)
    write_remedies(lines, cause.remedies, indent=_BODY)


def _write_on_target(lines: Lines, answer: OnTarget) -> None:
    """What the doctor says about the target, beside the log."""
    lines.blank()
    for number, finding in enumerate(answer.findings):
        lines.prose(finding.message, indent=_BODY, label="  target" if number == 0 else "", label_style="bold")
        rows = [
            Row(evidence.text, evidence.where, f"from {evidence.owner}" if evidence.owner else "")
            for evidence in finding.evidence
        ]
        lines.table(rows, indent=_BODY)
    if not answer.findings:
        lines.prose(_without_finding(answer), indent=_BODY, label="  target", label_style="bold")


def _without_finding(answer: OnTarget) -> str:
    if answer.outcome is Outcome.OK:
        return (
            "This target does not have that fault now: the log was written in another environment, or before it was "
            "mended"
        )
    if answer.outcome is Outcome.NOT_APPLICABLE:
        return f"This target cannot be judged for it: {answer.reason}"
    return f"Whether this target has that fault is unknown: {answer.reason}"


def _typed(log: str) -> str:
    """The log as it is named on a command line."""
    return "-" if log == STANDARD_INPUT else shlex.quote(log)


def _in_log(line: LogLine) -> str:
    return f"{line.line}: {f'[{line.process}] ' if line.process else ''}{line.text}"


def _write_lines(lines: Lines, title: str, shown_lines: tuple[LogLine, ...]) -> None:
    if not shown_lines:
        return
    lines.blank()
    lines.prose(title, style="bold")
    for line in shown_lines:
        lines.prose(_in_log(line), indent=2)


def _write_summary(lines: Lines, read: Why, again: Again) -> None:
    headline, style = _HEADLINES[read.verdict]
    if read.causes:
        first = read.causes[0]
        others = len(read.causes) - 1
        headline = f"The log shows {first.check}" + (f", and {others} more" if others else "")
    headline = read.without_error or headline
    lines.prose(f"{headline}.", style=style)
    steps = []
    if any(isinstance(remedy, Repair) for cause in (*read.causes, *read.limits) for remedy in cause.remedies):
        steps.append(again.repairing())
    named = read.causes[0] if read.causes else read.stopped
    if named:
        steps.append((f"sm120kit explain {named.check}{again.checks}", "what that means and where it comes from"))
    if not read.target and (read.causes or read.suspects):
        command = f"sm120kit why {_typed(read.log)}{again.checks} --python PATH"
        steps.append((command, "judges log and environment together"))
    lines.steps(steps)

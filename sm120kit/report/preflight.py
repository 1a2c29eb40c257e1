"""What preflight found, as text: what was looked at, what will be granted, what stops the launch and what to do."""

from __future__ import annotations

from sm120kit.diagnosis.types import Severity
from sm120kit.fleet.preflight.types import Preflight
from sm120kit.report.fleet_words import REHEARSAL
from sm120kit.report.lines import Lines, Row
from sm120kit.report.terminal import write_finding
from sm120kit.report.wording import counted


def render_preflight(
    preflight: Preflight,
    name: str,
    *,
    rehearsal: bool,
    width: int = 100,
    colour: bool = False,
    verbose: bool = False,
    encoding: str = "utf-8",
) -> str:
    """The answers to all questions, then errors and warnings with evidence and remedies; ``verbose``: notes too."""
    lines = Lines(width, encoding)
    if rehearsal:
        lines.prose(REHEARSAL, style="bold magenta")
    lines.prose(f"{name}: preflight", style="bold")
    lines.table([Row(answer.question, answer.text) for answer in preflight.answers], indent=2)
    for finding in preflight.findings:
        if verbose or finding.severity is not Severity.NOTE:
            lines.blank()
            write_finding(lines, finding, whole=True)
            if preflight.is_forced(finding):
                lines.prose(f"--force {finding.check}: the launch goes on in spite of it", indent=9, style="dim")
    if preflight.stopping:
        _write_refusal(lines, preflight)
    if rehearsal:
        lines.prose(REHEARSAL, style="bold magenta")
    return lines.render(colour=colour)


def _write_refusal(lines: Lines, preflight: Preflight) -> None:
    number = len(preflight.stopping)
    lines.blank()
    lines.prose(f"Refused: {counted(number, 'error')}. Nothing was started.", style="bold red")
    ids = dict.fromkeys(finding.check for finding in preflight.stopping)
    rows = [Row(f"sm120kit explain {each}", "what that means and where it comes from") for each in ids]
    rows.append(Row(" ".join(f"--force {each}" for each in ids), "starts in spite of it"))
    lines.table(rows, indent=2)

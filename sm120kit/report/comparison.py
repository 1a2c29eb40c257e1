"""The difference of two snapshots for people: what came, what went, and what changed on the machine."""

from __future__ import annotations

from sm120kit.diagnosis.types import Comparison
from sm120kit.report.lines import Lines, Row
from sm120kit.report.terminal import write_finding
from sm120kit.report.wording import counted

_CHANGED = 3
"""Column in which the values of a change begin below its name."""


def render_comparison(
    comparison: Comparison, *, width: int = 100, colour: bool = False, encoding: str = "utf-8"
) -> str:
    """The comparison as text: new findings whole, those that went by name, then every change."""
    lines = Lines(width, encoding)
    if comparison.two_targets:
        lines.prose(
            "These are two targets, not one at two times: what differs may have differed all along.",
            style="bold yellow",
        )
        lines.blank()
    lines.table([Row("before", comparison.before), Row("after", comparison.after)])
    for finding in comparison.appeared:
        lines.blank()
        write_finding(lines, finding, whole=True)
    if comparison.gone:
        lines.blank()
        for finding in comparison.gone:
            lines.prose(
                f"{finding.message} ({finding.severity.value})", indent=9, label="gone", label_style="bold green"
            )
            lines.raw(finding.check, 9, "dim")
    if comparison.changes:
        lines.blank()
        for change in comparison.changes:
            lines.prose(change.what, style="bold")
            lines.table([Row("was", change.before), Row("is", change.after)], indent=_CHANGED)
    lines.blank()
    lines.prose(_verdict(comparison), style="bold red" if comparison.worse else "bold")
    return lines.render(colour=colour)


def _verdict(comparison: Comparison) -> str:
    if not (comparison.changes or comparison.appeared or comparison.gone):
        return "No difference."
    came, went = counted(len(comparison.appeared), "finding"), counted(len(comparison.gone), "finding")
    direction = "It got worse" if comparison.worse else "It did not get worse"
    return f"{direction}: {counted(len(comparison.changes), 'change')}, {came} came, {went} went."

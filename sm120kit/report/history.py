"""The journal as text."""

from __future__ import annotations

from collections.abc import Sequence

from sm120kit.repair.types import HistoryLine
from sm120kit.report.lines import Lines, Row
from sm120kit.report.wording import counted

_STATUS = {
    "applied": "applied",
    "taken-back": "taken back",
    "applying": "cut off while it was applied; sm120kit undo takes back what was done",
    "taking-back": "cut off while it was taken back; sm120kit undo goes on with it",
}

_AT_WORK = {"applying": "being applied now", "taking-back": "being taken back now"}


def render_history(history: Sequence[HistoryLine], *, width: int, colour: bool) -> str:
    """One paragraph for each repair, oldest first."""
    lines = Lines(width)
    if not history:
        lines.prose("No repair was applied yet.")
    for each in history:
        lines.blank()
        status = f"{_AT_WORK[each.status]} (process {each.at_work})" if each.at_work else _STATUS[each.status]
        if each.status == "applied":
            status += _how_it_stands(each)
        lines.prose(f"{each.number}  {each.started_at}  {status}", style="bold")
        rows = [Row("target", each.target), Row("cured", ", ".join(sorted({cure.check for cure in each.cures})))]
        rows += [Row("toolkit", each.view)] if each.view else []
        lines.table([*rows, Row("actions", counted(each.actions, "path"))], indent=3)
    return lines.render(colour=colour)


def _how_it_stands(each: HistoryLine) -> str:
    if not each.view:
        return ", inside the toolkit itself"
    return ", live" if each.live else ", no longer live"

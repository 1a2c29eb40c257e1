"""Toolkit views as text."""

from __future__ import annotations

from collections.abc import Sequence

from sm120kit.repair.types import ViewLine
from sm120kit.report.lines import Lines, Row


def render_views(views: Sequence[ViewLine], *, removed: bool, kept: int, width: int, colour: bool) -> str:
    """One paragraph for each view; ``kept`` is how many there are, where none of them is shown."""
    lines = Lines(width)
    if not views:
        lines.prose(_none(kept, removed=removed))
    for view in views:
        lines.blank()
        lines.prose(f"{view.path}  CUDA {view.release or 'of unknown release'}", style="bold")
        rows = [Row("serves", view.target or "nobody that is known")]
        if view.live_for:
            rows.append(Row("live", "yes"))
        if view.records:
            rows.append(Row("made by", "repair " + ", ".join(map(str, view.records))))
        rows += [Row(part, source) for part, source in view.parts.items()]
        if view.can_go:
            rows.append(Row("removed" if removed else "can be removed", view.can_go))
        lines.table(rows, indent=2)
    return lines.render(colour=colour)


def _none(kept: int, *, removed: bool) -> str:
    if not kept:
        return "No repair has made a toolkit."
    which = "The one toolkit is" if kept == 1 else f"Each of the {kept} toolkits is"
    nothing = "Nothing was removed" if removed else "Nothing can be removed"
    return f"{nothing}. {which} live, or undoing a repair returns to it (sm120kit toolkits)."

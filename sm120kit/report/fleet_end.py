"""How fleets ended, and what is left of them."""

from __future__ import annotations

from collections.abc import Sequence

from sm120kit.fleet.types import STOPS, Fleet
from sm120kit.report.fleet_words import REHEARSAL, duration
from sm120kit.report.lines import Lines
from sm120kit.text import visible


def render_end(
    fleets: Sequence[Fleet], now: float, *, already: Sequence[str] = (), width: int = 100, colour: bool = False
) -> str:
    """What happened to each since it was told to stop, in the words of its supervisor. ``already``: the names of those
    that had ended before."""
    lines = Lines(width)
    rehearsed = any(fleet.rehearsal for fleet in fleets)
    if rehearsed:
        lines.prose(REHEARSAL, style="bold magenta")
    if not fleets:
        lines.prose("No fleet runs.")
    for fleet in fleets:
        if fleet.name in already:
            lines.prose(f"{fleet.name}: had ended already, {duration(now - fleet.updated)} ago", style="bold")
            continue
        state = "ended" if fleet.ended else "something of it still runs"
        lines.prose(f"{fleet.name}: {state}", style="bold green" if fleet.ended else "bold red")
        for text in end_lines(fleet):
            lines.prose(text, indent=2)
    if rehearsed:
        lines.prose(REHEARSAL, style="bold magenta")
    return lines.render(colour=colour)


def end_lines(fleet: Fleet) -> tuple[str, ...]:
    """What its supervisor said since it began to stop; where it said nothing, the last that is known."""
    texts = [(f"replica {event.replica}: " if event.replica is not None else "") + event.text for event in fleet.events]
    places = [number for number, event in enumerate(fleet.events) if event.text == STOPS and event.replica is None]
    return tuple(visible(text) for text in (texts[places[-1] + 1 :] if places else texts[-1:]))

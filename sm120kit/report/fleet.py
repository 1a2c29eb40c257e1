"""A fleet as text: how it stands, how a launch ended, what each verdict rests on."""

from __future__ import annotations

from collections.abc import Sequence

from sm120kit.fleet.types import Fleet
from sm120kit.report.fleet_table import write_table
from sm120kit.report.fleet_troubles import not_judged, write_ladder, write_troubles
from sm120kit.report.fleet_words import duration, granted, title, verified, write_rehearsal
from sm120kit.report.lines import Lines, Row

_INDENT = 2
_EVENTS = 6


def render_live(fleet: Fleet, now: float, *, width: int = 100, colour: bool = False) -> str:
    """The table that is drawn again and again while a fleet comes up."""
    lines = Lines(width)
    write_rehearsal(lines, fleet)
    lines.prose(title(fleet), style="bold")
    write_table(lines, fleet, now)
    write_rehearsal(lines, fleet)
    return lines.render(colour=colour)


def render_status(
    fleet: Fleet, now: float, *, width: int = 100, colour: bool = False, verbose: bool = False, encoding: str = "utf-8"
) -> str:
    """How a fleet stands at the moment ``now``; ``verbose``: with every verdict and its evidence."""
    lines = Lines(width, encoding)
    write_rehearsal(lines, fleet)
    lines.prose(title(fleet), style="bold")
    lines.prose(_supervised(fleet, now), style="dim")
    lines.blank()
    write_table(lines, fleet, now)
    _write_summary(lines, fleet, verbose=verbose)
    if fleet.events:
        lines.blank()
        shown = fleet.events[-_EVENTS:]
        ages = [f"{duration(now - event.at)} ago" for event in shown]
        widest = max(map(len, ages))
        rows = [
            Row(age.rjust(widest), event.text if event.replica is None else f"replica {event.replica}: {event.text}")
            for age, event in zip(ages, shown, strict=True)
        ]
        lines.table(rows, indent=_INDENT)
    write_rehearsal(lines, fleet)
    return lines.render(colour=colour)


def render_summary(
    fleet: Fleet,
    now: float,
    *,
    width: int = 100,
    colour: bool = False,
    verbose: bool = False,
    encoding: str = "utf-8",
    remarks: Sequence[str] = (),
) -> str:
    """How a launch or a verification ended. ``remarks``: what happened to it afterwards."""
    lines = Lines(width, encoding)
    write_rehearsal(lines, fleet)
    lines.prose(title(fleet), style="bold")
    write_table(lines, fleet, now)
    _write_summary(lines, fleet, verbose=verbose)
    if remarks:
        lines.blank()
        for remark in remarks:
            lines.prose(remark, style="dim")
    write_rehearsal(lines, fleet)
    return lines.render(colour=colour)


def verdict(fleet: Fleet) -> str:
    """Whether it is verified, in one sentence."""
    number, of = verified(fleet), len(fleet.replicas)
    rehearsed = " in a rehearsal" if fleet.rehearsal else ""
    if fleet.ended and number == of:
        return f"Was verified{rehearsed}: {number} of {of} at level {fleet.level}, until it was ended."
    if fleet.ended:
        return f"Not verified{rehearsed}: {number} of {of} at level {fleet.level} when it was ended."
    if fleet.verified:
        return f"Verified{rehearsed}: {number} of {of} at level {fleet.level}."
    return f"Not verified{rehearsed}: {number} of {of} at level {fleet.level}."


def _write_summary(lines: Lines, fleet: Fleet, *, verbose: bool) -> None:
    lines.blank()
    lines.prose(verdict(fleet), style="bold green" if verified(fleet) == len(fleet.replicas) else "bold red")
    lines.table([*_figures(fleet), *not_judged(fleet)], indent=_INDENT)
    if verbose:
        write_ladder(lines, fleet)
    else:
        write_troubles(lines, fleet)


def _figures(fleet: Fleet) -> list[Row]:
    requested = [each.requested for each in fleet.replicas if each.requested is not None]
    predicted = [each.predicted for each in fleet.replicas if each.predicted is not None]
    asked = f"{sum(requested):,} requested" if requested else "no number requested"
    planned = f"{sum(predicted):,} predicted" if predicted else "none predicted"
    rows = [Row("requests at a time", f"{asked}, {planned}, {granted(fleet):,} granted")]
    rates = [each.tokens_per_second for each in fleet.replicas if each.tokens_per_second is not None]
    if rates:
        rows.append(Row("decoding", f"{sum(rates):,.0f} tokens/s in sum", _shares(fleet)))
    return [*rows, *(Row("note", remark) for remark in fleet.remarks)]


def _shares(fleet: Fleet) -> str:
    shares = [each.roofline_share for each in fleet.replicas if each.roofline_share is not None]
    if not shares:
        return ""
    low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
    return f"{low} of the roofline" if low == high else f"{low} to {high} of the roofline"


def _supervised(fleet: Fleet, now: float) -> str:
    if fleet.ended:
        return f"ended {duration(now - fleet.updated)} ago; nothing of it runs"
    if fleet.supervisor is None:
        return "nobody watches it"
    kept = ", and it goes on by itself" if fleet.detached else ", as long as the command that started it runs"
    return f"watched by process {fleet.supervisor.pid} for {duration(now - fleet.started)}{kept}"

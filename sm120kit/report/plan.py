"""A plan as text: what will be granted, where memory goes, what else could be done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sm120kit.capacity.types import Budget, Check, OnCards, Plan, Point, Roofline
from sm120kit.report.chart import MARK, chart
from sm120kit.report.lines import Lines, Row

_GIB = 1 << 30
_INDENT = 2
_OVER = "!"
_BAR_SIGNS = {
    "weights": "W",
    "draft weights": "D",
    "states": "S",
    "keys and values": "K",
    "states of draft tokens": "R",
    "graphs": "G",
    "free": ".",
}


def render_plan(plan: Plan, *, width: int = 100, colour: bool = False) -> str:
    """The plan as text of at most ``width`` columns; arguments are never broken."""
    lines = Lines(width)
    lines.prose(f"{plan.architecture} on {plan.hardware}, SGLang {plan.sglang}", style="dim")
    lines.blank()
    _write_verdict(lines, plan)
    lines.blank()
    _write_budget(lines, plan.budget, _smallest(plan))
    if plan.curve and not plan.predicted.failure:
        lines.blank()
        _write_chart(lines, plan)
    if plan.alternatives:
        lines.blank()
        _write_alternatives(lines, plan)
    _write_bounds(lines, plan)
    if plan.check:
        lines.blank()
        _write_check(lines, plan.check)
    if plan.notes:
        lines.blank()
        for note in plan.notes:
            lines.prose(_sentence(note), indent=_INDENT, label="!", label_style="bold yellow")
    lines.blank()
    lines.prose("Assumed:", style="dim")
    for assumption in plan.assumptions:
        lines.prose(assumption, indent=_INDENT, label="-", style="dim")
    return lines.render(colour=colour)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _write_verdict(lines: Lines, plan: Plan) -> None:
    predicted, best = plan.predicted, plan.best
    if predicted.failure:
        where = f"On {smallest} it" if (smallest := _smallest(plan)) else "It"
        lines.prose(f"{where} will not start: {predicted.failure}{_short_by(plan.budget)}.", style="bold red")
        if predicted.page:
            lines.prose("More about it:", indent=_INDENT)
            lines.raw(f"sm120kit explain {predicted.page}", _INDENT + 2, "cyan")
            return
    else:
        if plan.unfit:
            lines.prose(_sentence(plan.unfit), style="bold red")
        asked = f"{plan.requested} requested, " if plan.requested is not None else ""
        short = plan.requested is not None and predicted.granted < plan.requested
        style = "bold yellow" if short else "bold green"
        where = f"On {smallest}: " if (smallest := _smallest(plan)) else ""
        lines.prose(f"{where}{asked}{predicted.granted} granted{_by_each(plan)}, {_at_best(plan)}.", style=style)
    rows = [
        Row("tokens", f"{predicted.tokens:,}", f"{predicted.bytes_per_token:,} bytes each"),
        Row("static fraction", f"{predicted.mem_fraction_static:.3f}"),
        Row("prefill in chunks of", f"{predicted.chunked_prefill_size:,} tokens"),
        Row("largest decode graph", f"{predicted.largest_decode_graph} requests"),
    ]
    if predicted.bytes_per_state:
        each = f"{predicted.slots_per_request} for each request, {predicted.bytes_per_state:,} bytes each"
        rows.insert(1, Row("state slots", str(predicted.state_slots), each))
    lines.table(rows, indent=_INDENT)
    if best.arguments:
        room = " and have room" if predicted.together < predicted.granted else ""
        lines.prose(f"Ask for {best.max_running_requests}, and {best.granted} are granted{room}:", indent=_INDENT)
        lines.raw(" ".join(best.arguments), _INDENT + 2, "cyan")


def _by_each(plan: Plan) -> str:
    """Whose number that is where these GPUs hold several servers."""
    servers = plan.fleet.parts[0].servers if plan.fleet.parts else plan.fleet.servers
    return f" by each of {servers} servers" if servers > 1 else ""


def _smallest(plan: Plan) -> str:
    """The card that a plan for several kinds of them speaks of; empty where there is one kind."""
    return plan.fleet.parts[0].card if plan.fleet.parts else ""


def _at_best(plan: Plan) -> str:
    if plan.predicted.granted <= plan.best.max_running_requests:
        return f"{plan.best.max_running_requests} at best"
    return f"and {_room(plan, plan.predicted.together)}"


def _room(plan: Plan, requests: int) -> str:
    return f"room for {requests} of {plan.predicted.tokens_each:,} tokens each"


def _short_by(budget: Budget) -> str:
    return f"; {budget.short_by / _GIB:.2f} GiB more must be free" if budget.short_by else ""


def _write_budget(lines: Lines, budget: Budget, card: str) -> None:
    parts = list(_parts(budget))
    over = budget.short_by or max(-budget.free, 0)
    total = max(budget.free_before_loading + over, 1)
    lines.prose(f"Memory of one {card or 'GPU'}: {budget.free_before_loading / _GIB:.2f} GiB free before loading")
    width = lines.width - _INDENT
    bar = _bar([(_BAR_SIGNS[name], size) for name, size in parts], total, width)
    lines.raw(bar[: width - round(over / total * width)].ljust(width, _OVER) if over else bar, _INDENT)
    lines.table(
        [
            Row(f"{_BAR_SIGNS[name]} {name}", f"{size / _GIB:8.2f} GiB", f"{size / total:6.1%}")
            for name, size in parts
            if size > 0
        ]
        + ([Row(f"{_OVER} more than there is", f"{over / _GIB:8.2f} GiB", f"{over / total:6.1%}")] if over else []),
        indent=_INDENT,
    )


def _parts(budget: Budget) -> Iterator[tuple[str, int]]:
    yield "weights", budget.weights
    yield "draft weights", budget.draft_weights
    yield "states", budget.state_pool
    yield "keys and values", budget.kv_pool
    yield "states of draft tokens", budget.reserve
    yield "graphs", budget.graphs
    yield "free", budget.free


def _bar(parts: Sequence[tuple[str, int]], total: int, width: int) -> str:
    """Each part as wide as its share; the widths add up whatever the rounding."""
    text, done = "", 0
    for sign, size in parts:
        done += max(size, 0)
        text += sign * (round(done / total * width) - len(text))
    return text


def _write_chart(lines: Lines, plan: Plan) -> None:
    marks = [plan.requested] if plan.requested is not None else []
    rows = chart(_pairs(plan.curve), width=lines.width - _INDENT, marks=marks)
    legend = f"; {MARK} at {plan.requested}" if any(MARK in row for row in rows) else ""
    lines.prose(f"Granted (up) for each number requested (to the right{legend}):")
    for row in rows:
        lines.raw(row, _INDENT)


def _pairs(points: Sequence[Point]) -> list[tuple[int, int]]:
    return [(point.requested, point.granted) for point in points]


def _write_alternatives(lines: Lines, plan: Plan) -> None:
    title = "It would start, and grant so many" if plan.predicted.failure else "More requests"
    legend = (
        " (* may change what the model answers)" if any(each.quality_affecting for each in plan.alternatives) else ""
    )
    lines.prose(f"{title}, each way by itself{legend}:")
    for each in plan.alternatives:
        mark = "*" if each.quality_affecting else " "
        cost = f" ({each.cost})" if each.cost else ""
        lines.prose(f"{each.name}{cost}", indent=8, label=f"{mark}{each.granted:>5}")
        if each.arguments:
            lines.raw(" ".join(each.arguments), 8, "cyan")


def _write_bounds(lines: Lines, plan: Plan) -> None:
    fleet = plan.fleet
    rows = [_on_cards(part) for part in fleet.parts if not plan.predicted.page]
    if fleet.servers > 1 and fleet.starting:
        asked = f" of {fleet.requested} requested" if fleet.requested is not None else ""
        best = f"{fleet.best} at best" if fleet.granted <= fleet.best else _room(plan, fleet.together)
        some = f"{fleet.starting} of {fleet.servers} start and" if fleet.starting < fleet.servers else ""
        rows.append(Row("all servers", f"{some or f'{fleet.servers} of them'} grant {fleet.granted}{asked}, {best}"))
    if rows:
        lines.blank()
        lines.table(rows, indent=0)
    if plan.rooflines:
        lines.blank()
        lines.prose(f"Decoding, upper bound where each request holds {plan.rooflines[0].tokens_each:,} tokens:")
        lines.table([_bound(each) for each in plan.rooflines], indent=_INDENT)


def _on_cards(part: OnCards) -> Row:
    several = part.servers > 1
    if part.failure:
        does = f"none of {part.servers} servers starts" if several else "the server does not start"
        return Row(f"on {part.card}", f"{does}: {part.failure}")
    who = f"each of {part.servers} servers" if several else "the server"
    return Row(f"on {part.card}", f"{who} grants {part.granted}")


def _bound(bound: Roofline) -> Row:
    reads = f"{bound.bytes_per_step / _GIB:.1f} GiB a step at {bound.bandwidth / 1e9:,.0f} GB/s"
    requests = f"{bound.requests} request{'s' if bound.requests > 1 else ''}"
    return Row(requests, f"{bound.tokens_per_second:,.0f} tokens/s a server", reads)


def _write_check(lines: Lines, check: Check) -> None:
    lines.prose(f"Beside {check.source}: {check.verdict}", style="bold")
    rows = []
    for each in check.differences:
        numbers = f"{_number(each.predicted, each.unit)} predicted, {_number(each.seen, each.unit)} seen"
        rows.append(Row(each.what, numbers, each.unit))
    lines.table(rows, indent=_INDENT)
    for line in check.not_understood:
        lines.raw(f"not understood: {line}", _INDENT)


def _number(value: float, unit: str) -> str:
    return f"{value:,.2f}" if unit == "GiB" else f"{value:,.0f}"

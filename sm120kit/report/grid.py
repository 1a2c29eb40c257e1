"""A table of many columns: as wide as its cells, with the least needed columns left out where the place is narrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from sm120kit.report.lines import Lines
from sm120kit.text import visible

_GAP = 2
_CUT = "..."


class Cell(NamedTuple):
    """What stands in one place of the table."""

    text: str = ""
    style: str = ""


class Column(NamedTuple):
    """One column. A column in which nothing stands is left out."""

    heading: str
    cells: Sequence[Cell]
    right: bool = False
    """Numbers stand at the right."""
    need: int = 0
    """Where there is no room for all, the column of the least need is left out first."""
    least: int = 0
    """It may be cut down to this width before a column is left out; 0 = never."""


def write_grid(lines: Lines, columns: Sequence[Column], *, indent: int = 0) -> None:
    """The columns beside each other, under their headings."""
    shown = _fitting(
        [_escaped(each) for each in columns if any(cell.text for cell in each.cells)], lines.width - indent
    )
    widths = _widths(shown, lines.width - indent)
    lines.pieces(_row([Cell(column.heading, "dim") for column in shown], shown, widths, indent))
    for row in zip(*(column.cells for column in shown), strict=True):
        lines.pieces(_row(row, shown, widths, indent))


def _escaped(column: Column) -> Column:
    return column._replace(cells=[Cell(visible(cell.text), cell.style) for cell in column.cells])


def _natural(column: Column) -> int:
    return max(cell_len(text) for text in (column.heading, *(cell.text for cell in column.cells)))


def _narrowest(column: Column) -> int:
    return min(_natural(column), max(column.least, cell_len(column.heading))) if column.least else _natural(column)


def _fitting(columns: list[Column], room: int) -> list[Column]:
    """The columns that find room, in their order."""
    kept = list(columns)
    while len(kept) > 1 and sum(map(_narrowest, kept)) + _GAP * (len(kept) - 1) > room:
        kept.remove(min(kept, key=lambda column: column.need))
    return kept


def _widths(columns: Sequence[Column], room: int) -> list[int]:
    """Natural widths, with what may be cut, cut as far as it must be."""
    widths = [_natural(column) for column in columns]
    over = sum(widths) + _GAP * (len(widths) - 1) - room
    for number, column in enumerate(columns):
        cut = max(0, min(over, widths[number] - _narrowest(column)))
        widths[number] -= cut
        over -= cut
    return widths


def _row(cells: Sequence[Cell], columns: Sequence[Column], widths: Sequence[int], indent: int) -> Iterator[Cell]:
    yield Cell(" " * indent)
    for number, (cell, column, width) in enumerate(zip(cells, columns, widths, strict=True)):
        if number:
            yield Cell(" " * _GAP)
        text = _cut(cell.text, width)
        space = " " * (width - cell_len(text))
        if column.right:
            yield Cell(space)
        yield Cell(text, cell.style)
        if not column.right and number < len(columns) - 1:
            yield Cell(space)


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, max(width - len(_CUT), 0)) + _CUT[:width]

"""A curve drawn with characters."""

from __future__ import annotations

from collections.abc import Sequence

HEIGHT = 12
MARK = "@"
"""Stands where the others have ``#``, in columns that are marked."""

_FULL, _EMPTY = "#", " "


def chart(
    points: Sequence[tuple[int, int]], *, width: int, height: int = HEIGHT, marks: Sequence[int] = ()
) -> list[str]:
    """Rows of text, top first: a column for each stretch of the horizontal axis, as high as its largest value.

    ``points``: pairs of whole numbers, in ascending order of the first; ``marks``: places on the horizontal axis whose
    column is drawn with another sign.
    """
    top = max((value for _, value in points), default=0)
    if top <= 0:
        return []
    label = len(f"{top:,}")
    columns = max(min(width - label - 3, len(points)), 1)
    first, last = points[0][0], points[-1][0]
    span = max(last - first, 1)
    heights = _heights(points, columns, span)
    marked = {(mark - first) * (columns - 1) // span for mark in marks if first <= mark <= last}
    rows = []
    for level in range(height, 0, -1):
        cells = [
            (MARK if column in marked else _FULL) if value * height >= top * (level - 0.5) else _EMPTY
            for column, value in enumerate(heights)
        ]
        axis = f"{top:,}" if level == height else "0" if level == 1 else ""
        rows.append(f"{axis:>{label}} |{''.join(cells)}".rstrip())
    rows.append(f"{'':>{label}} +{'-' * columns}")
    end = f"{last:,}"
    rows.append(f"{'':>{label}}  {first:,}{end:>{max(columns - len(f'{first:,}'), len(end) + 1)}}")
    return rows


def _heights(points: Sequence[tuple[int, int]], columns: int, span: int) -> list[int]:
    """Each column's largest value; where no point falls into one, that of the column before it."""
    first = points[0][0]
    found: dict[int, int] = {}
    for place, value in points:
        column = (place - first) * (columns - 1) // span
        found[column] = max(found.get(column, value), value)
    heights: list[int] = []
    for column in range(columns):
        heights.append(found.get(column, heights[-1] if heights else 0))
    return heights

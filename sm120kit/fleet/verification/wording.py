"""How evidence words what servers said, sizes and shares."""

from __future__ import annotations

from collections.abc import Iterable

from sm120kit.redaction import redacted
from sm120kit.text import visible

_LONGEST = 120
GIB = 1 << 30


def quoted(text: str, most: int = _LONGEST) -> str:
    """What a server said, in quotes: on one line, shortened, without secrets."""
    shown = visible(redacted(text))
    return f'"{shown}"' if len(shown) <= most else f'"{shown[:most]}..."'


def gib(size: float) -> str:
    """Bytes as GiB."""
    return f"{size / GIB:.2f} GiB"


def replicas(numbers: Iterable[int]) -> str:
    """Some replicas by their numbers: ``replica 3``, ``replicas 0-2, 5``."""
    ordered = sorted(set(numbers))
    spans: list[list[int]] = []
    for number in ordered:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    listed = ", ".join(f"{span[0]}-{span[-1]}" if len(span) > 1 else f"{span[0]}" for span in spans)
    return f"replica {listed}" if len(ordered) == 1 else f"replicas {listed}"

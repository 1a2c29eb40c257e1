"""Lines that are alike but for the numbers in them, decimal or hexadecimal: one of each kind is enough to look at.

The outline of a line is what is left of it without digits and without the letters a to f, small or large: request ids,
addresses and hashes go, and a log of a million errors about a million requests has a handful of outlines. So much is
taken away that lines of quite other words can have one outline. What it cannot hold, though, is certain: a text stands
in a line only where the outline of that text stands in the outline of the line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sm120kit.diagnosis.logs.asked import Asked
from sm120kit.diagnosis.logs.cleaning import CLEANED_AWAY, NUMBERS

_HEXADECIMAL = b"abcdefABCDEF"

_MOST_OUTLINES = 20_000
_LONGEST_OUTLINE = 512
_WORTH_IT = 4
"""Lines for each outline from which on outlines save more than they cost."""
_PAUSE = 15
"""Times that outlines are not made after they were not worth it."""
_FEWEST = 64


class Kinds:
    """Says which of many new lines have to be looked at.

    ``patterns`` are those of the signatures; ``telling`` are parts of words, in small letters, of lines that tell
    something else.
    """

    def __init__(self, patterns: Iterable[str], telling: Iterable[str]) -> None:
        self._asked = [Asked(pattern, NUMBERS + _HEXADECIMAL) for pattern in patterns]
        self._telling = [_outline(word.encode()) for word in telling]
        self._settled: set[bytes] = set()
        """Outlines of lines that can show no known failure, and of which one was looked at."""
        self._open: set[bytes] = set()
        """Outlines of lines each of which has to be looked at."""
        self._pause = 0

    def choose(self, fresh: set[bytes], shapes: Sequence[bytes]) -> set[bytes]:
        """Those of the ``fresh`` shapes, lines without `NUMBERS`, that may tell what others of their kind do not.

        ``shapes`` holds them in the order of the log: of lines of one kind the first is chosen.
        """
        if self._pause or len(fresh) < _FEWEST:
            self._pause = max(0, self._pause - 1)
            return fresh
        outlines = set(_outlines(fresh)).difference(self._settled)
        if not outlines:
            return outlines
        unjudged = outlines.difference(self._open)
        if len(fresh) < _WORTH_IT * len(unjudged):
            self._pause = _PAUSE
        ordered = [shape for shape in dict.fromkeys(shapes) if shape in fresh]
        pairs = list(zip(ordered, _outlines(ordered), strict=True))
        first = self._settle(unjudged, Counter(outline for _, outline in pairs))
        chosen = set()
        for shape, outline in pairs:
            if outline in first or outline not in self._settled:
                first.discard(outline)
                chosen.add(shape)
        return chosen

    def _settle(self, unjudged: set[bytes], times: Mapping[bytes, int]) -> set[bytes]:
        """Judge outlines that several lines have; which of them can be passed over from now on."""
        if len(self._settled) + len(self._open) + len(unjudged) > _MOST_OUTLINES:
            self._settled.clear()
            self._open.clear()
        several = {each for each in unjudged if times[each] > 1 and len(each) <= _LONGEST_OUTLINE}
        matter = {outline for outline in several if self._may_matter(outline)}
        self._open |= matter
        self._settled |= several - matter
        return several - matter

    def _may_matter(self, outline: bytes) -> bool:
        if CLEANED_AWAY.search(outline):
            return True
        small = _outline(outline.lower())
        return any(part in small for part in self._telling) or any(each.may_match(outline) for each in self._asked)


def _outline(text: bytes) -> bytes:
    return text.translate(None, NUMBERS + _HEXADECIMAL)


def _outlines(shapes: Iterable[bytes]) -> list[bytes]:
    return _outline(b"\n".join(shapes)).split(b"\n")

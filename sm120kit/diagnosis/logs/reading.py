"""Reads a log of any size in bounded memory, and hands on only lines of a shape that was not seen to be harmless."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from typing import BinaryIO, NamedTuple

from sm120kit.diagnosis.logs.belonging import looks_like_a_log
from sm120kit.diagnosis.logs.cleaning import NUMBERS

_BLOCK = 1 << 20
_LONGEST_LINE = 1 << 20
"""Bytes. A longer line is looked at in pieces that overlap."""
_OVERLAP = 4 << 10
_MOST_SHAPES = 20_000
_LONGEST_SHAPE = 512

_LONG_LINES = 8 << 10
"""Bytes of lines, on the average, from which on each is looked at by itself: hardly two of them are of one shape."""

_FEW_LINES = 64

_BATCHES = (b"Prefill batch", b"Decode batch")

Choose = Callable[[set[bytes], Sequence[bytes]], set[bytes]]
"""Called with the shapes of new lines, and with all shapes in the order of the log. Those that are worth a look."""

Sift = Callable[[bytes], bool]
"""Called with the shapes of many lines, one below the other. False: none of them holds anything."""

Look = Callable[[int, bytes, bytes], bool]
"""Called with a line's number, its bytes and its shape. False, which must follow from the shape alone: lines of this
shape hold nothing more, and need not be shown again."""


class Extent(NamedTuple):
    """How much was read, and why that is not all of it (a sentence, or empty)."""

    lines: int
    bytes: int
    incomplete: str
    broken: bool = False
    """Whether the rest of a compressed file could not be read."""
    text: bool = True
    """Whether it holds a letter or digit."""
    log: bool = True
    """Whether anything in it is of a form in which logs are written."""
    served: int = 0
    """The last line that tells of a batch of requests; 0 = none does."""


def read_lines(stream: BinaryIO | gzip.GzipFile, choose: Choose, sift: Sift, look: Look) -> Extent:
    """Read ``stream`` to its end and call ``look`` for lines as they come, the same shape again only where it asks so.

    Progress bars write one line many times over with carriage returns; that is one line here.

    Raises:
        OSError: the stream cannot be read.
    """
    reader = _Reader(choose, sift, look)
    # What stands before the cut is lost where gzip is asked for more than it has at hand.
    read = stream.read1 if isinstance(stream, gzip.GzipFile) else stream.read
    size = 0
    rest = b""
    incomplete, broken = "", False
    while True:
        try:
            block = read(_BLOCK)
        except EOFError:
            incomplete, broken = "the compressed file is cut off", True
            break
        except zlib.error:
            incomplete, broken = "the compressed file is damaged", True
            break
        if not block:
            break
        size += len(block)
        data = rest + block
        whole, newline, rest = data.rpartition(b"\n")
        if newline:
            reader.lines_of(whole)
        elif len(rest) > _LONGEST_LINE:
            reader.piece_of_line(rest)
            rest = rest[-_OVERLAP:]
    if rest:
        reader.lines_of(rest)
        incomplete = incomplete or "it ends in the middle of a line"
    return Extent(reader.number, size, incomplete, broken, reader.text, reader.log, reader.served)


class _Reader:
    def __init__(self, choose: Choose, sift: Sift, look: Look) -> None:
        self.number = 0
        self.text = False
        self.log = False
        self.served = 0
        self._choose = choose
        self._sift = sift
        self._look = look
        self._harmless: set[bytes] = set()

    def lines_of(self, data: bytes) -> None:
        """Look through whole lines, the last one without its newline."""
        self._see_text(data)
        self._see_batch(data)
        shapes = data.translate(None, NUMBERS).split(b"\n")
        fresh = set(shapes).difference(self._harmless)
        long = len(data) > _LONG_LINES * len(shapes)
        chosen = fresh if long or not fresh else self._choose(fresh, shapes)
        if chosen and not long and not self._sift(b"\n".join(chosen)):
            self._remember(chosen)
        elif chosen:
            lines = zip(range(self.number + 1, self.number + 1 + len(shapes)), shapes, data.split(b"\n"), strict=True)
            self._look_at([each for each in lines if each[1] in chosen], sifted=long)
        self.number += len(shapes)

    def _look_at(self, lines: Sequence[tuple[int, bytes, bytes]], *, sifted: bool) -> None:
        """Look at lines, each with its number and shape. A few of them at a time are sifted first."""
        harmless: set[bytes] = set()
        for start in range(0, len(lines), _FEW_LINES):
            few = [each for each in lines[start : start + _FEW_LINES] if each[1] not in harmless]
            if not sifted and not self._sift(b"\n".join(shape for _, shape, _ in few)):
                harmless.update(shape for _, shape, _ in few)
                continue
            for number, shape, line in few:
                if shape not in harmless and not self._look(number, line, shape):
                    harmless.add(shape)
        self._remember(harmless)

    def piece_of_line(self, data: bytes) -> None:
        """Look at a part of a line that has not ended yet."""
        self._see_text(data)
        self._look(self.number + 1, data, data.translate(None, NUMBERS))

    def _see_text(self, data: bytes) -> None:
        self.text = self.text or any(letter.isalnum() for letter in data.decode("utf-8", "ignore"))
        self.log = self.log or looks_like_a_log(data)

    def _see_batch(self, data: bytes) -> None:
        place = max(map(data.rfind, _BATCHES))
        if place >= 0:
            self.served = self.number + 1 + data.count(b"\n", 0, place)

    def _remember(self, shapes: set[bytes]) -> None:
        if len(self._harmless) + len(shapes) > _MOST_SHAPES:
            self._harmless.clear()
        self._harmless.update(shape for shape in shapes if len(shape) <= _LONGEST_SHAPE)

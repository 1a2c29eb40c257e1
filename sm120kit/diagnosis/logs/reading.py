"""Reads a log of any size in bounded memory, and hands on only lines of a shape that was not seen to be harmless."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

_BLOCK = 1 << 20
_LONGEST_LINE = 1 << 20
"""Bytes. A longer line is looked at in pieces that overlap."""
_OVERLAP = 4 << 10
_MOST_SHAPES = 20_000
_LONGEST_SHAPE = 512

DROPPED = b"0123456789\x00"
"""Characters without which two lines are of one shape."""

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


def read_lines(stream: BinaryIO | gzip.GzipFile, sift: Sift, look: Look) -> Extent:
    """Read ``stream`` to its end and call ``look`` for lines as they come, the same shape again only where it asks so.

    Progress bars write one line many times over with carriage returns; that is one line here.

    Raises:
        OSError: the stream cannot be read.
    """
    reader = _Reader(sift, look)
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
    return Extent(reader.number, size, incomplete, broken, reader.text)


class _Reader:
    def __init__(self, sift: Sift, look: Look) -> None:
        self.number = 0
        self.text = False
        self._sift = sift
        self._look = look
        self._harmless: set[bytes] = set()

    def lines_of(self, data: bytes) -> None:
        """Look through whole lines, the last one without its newline."""
        self._see_text(data)
        shapes = data.translate(None, DROPPED).split(b"\n")
        fresh = set(shapes).difference(self._harmless)
        if fresh and not self._sift(b"\n".join(fresh)):
            self._remember(fresh)
        elif fresh:
            harmless = set()
            for number, (shape, line) in enumerate(zip(shapes, data.split(b"\n"), strict=True), self.number + 1):
                if shape in fresh and not self._look(number, line, shape):
                    fresh.discard(shape)
                    harmless.add(shape)
            self._remember(harmless)
        self.number += len(shapes)

    def piece_of_line(self, data: bytes) -> None:
        """Look at a part of a line that has not ended yet."""
        self._see_text(data)
        self._look(self.number + 1, data, data.translate(None, DROPPED))

    def _see_text(self, data: bytes) -> None:
        self.text = self.text or any(letter.isalnum() for letter in data.decode("utf-8", "ignore"))

    def _remember(self, shapes: set[bytes]) -> None:
        if len(self._harmless) + len(shapes) > _MOST_SHAPES:
            self._harmless.clear()
        self._harmless.update(shape for shape in shapes if len(shape) <= _LONGEST_SHAPE)

"""Bytes that lie somewhere: in a file, in a part of another source, behind gzip or behind zstd.

Each is read in two ways: once from its beginning to its end (``pieces``), and afterwards at any place (``at``).
"""

from __future__ import annotations

import os
import stat
import weakref
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Protocol

from sm120kit.snapshot.image.errors import ImageError

PIECE = 1 << 20
"""Bytes read, or inflated, at a time."""

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

_STORED_PIECE = 32 << 10
"""Compressed bytes read at a time. Every state that is kept holds what of one such piece it has not used yet."""
_FIRST_STEP = 4 << 20
_MOST_CURSORS = 8


class Source(Protocol):
    """Readable bytes. Both methods raise :class:`ImageError` where they are damaged, OSError where the disk is."""

    def pieces(self) -> Iterator[bytes]:
        """All of it in order, in pieces of at most :data:`PIECE` bytes."""
        ...

    def at(self, offset: int, size: int) -> bytes:
        """``size`` bytes from ``offset`` on; fewer where it ends before."""
        ...


class FileSource:
    """A regular file of this machine."""

    def __init__(self, path: str) -> None:
        if not stat.S_ISREG(os.stat(path).st_mode):  # asked before opening: to open a device can set it in motion
            raise ImageError("it is not a regular file", "Write the image into a file first")
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._descriptor)
        self.size = os.fstat(self._descriptor).st_size

    def pieces(self) -> Iterator[bytes]:
        return Part(self, 0, self.size).pieces()

    def at(self, offset: int, size: int) -> bytes:
        return os.pread(self._descriptor, size, offset)


class Part:
    """``size`` bytes of another source from ``offset`` on."""

    def __init__(self, whole: Source, offset: int, size: int) -> None:
        self._whole = whole
        self._offset = offset
        self.size = size

    def pieces(self) -> Iterator[bytes]:
        done = 0
        while done < self.size:
            piece = self.at(done, min(PIECE, self.size - done))
            if not piece:
                raise ImageError("it ends too early")
            done += len(piece)
            yield piece

    def at(self, offset: int, size: int) -> bytes:
        return self._whole.at(self._offset + offset, max(0, min(size, self.size - offset)))


class Gzip:
    """What a gzip stream holds. While it is read through, the inflater's state is kept every few megabytes: that makes
    any place of it readable later for the price of one step, without the whole ever being on disk."""

    def __init__(self, stored: Part, most_states: int, seen: Callable[[bytes], object] = lambda _: None) -> None:
        self._stored = stored
        self._most_states = max(16, most_states)
        self._seen = seen
        self._states: list[_State] = []
        self._cursors: OrderedDict[int, _State] = OrderedDict()
        self._step = _FIRST_STEP

    def pieces(self) -> Iterator[bytes]:
        self._states = [_State.first()]
        state = _State.first()
        for piece in state.go_on(self._stored, self._seen):
            yield piece
            if state.produced - self._states[-1].produced >= self._step:
                self._remember(state)

    def at(self, offset: int, size: int) -> bytes:
        state = self._nearest(offset)
        found: list[bytes] = []
        wanted = size
        for piece in state.go_on(self._stored):
            begin = state.produced - len(piece)
            if state.produced > offset:
                found.append(piece[max(0, offset - begin) : offset + size - begin])
                wanted -= len(found[-1])
            if wanted <= 0:
                break
        self._cursors[state.produced] = state
        self._cursors.move_to_end(state.produced)
        if len(self._cursors) > _MOST_CURSORS:
            self._cursors.popitem(last=False)
        return b"".join(found)

    def _remember(self, state: _State) -> None:
        self._states.append(state.copy())
        if len(self._states) > self._most_states:
            self._states = self._states[::2]
            self._step *= 2

    def _nearest(self, offset: int) -> _State:
        before = [each for each in (*self._states, *self._cursors.values()) if each.produced <= offset]
        return max(before, key=lambda each: each.produced).copy()


class _State:
    """An inflater in the middle of its work."""

    def __init__(self, inflater: zlib._Decompress, taken: int, produced: int, *, between: bool) -> None:
        self._inflater = inflater
        self._taken = taken
        """Stored bytes that it has used up."""
        self._between = between
        """Whether it stands between two members of the stream: nowhere else may that end."""
        self.produced = produced

    @classmethod
    def first(cls) -> _State:
        return cls(_inflater(), 0, 0, between=True)

    def copy(self) -> _State:
        return _State(self._inflater.copy(), self._taken, self.produced, between=self._between)

    def go_on(self, stored: Part, seen: Callable[[bytes], object] = lambda _: None) -> Iterator[bytes]:
        """Inflate to the end. Between two pieces this object is a state to go on from; ``seen`` gets what is read."""
        data = b""
        place = self._taken
        while True:
            if not data:
                data = stored.at(place, _STORED_PIECE)
                place += len(data)
                seen(data)
            at_end = not data
            try:
                piece = self._inflater.decompress(data, PIECE)
            except zlib.error as error:
                raise ImageError(f"its gzip data are damaged ({error})") from error
            if self._inflater.eof:
                data, self._between = self._inflater.unused_data, True
                self._inflater = _inflater()
            else:
                self._between = self._between and at_end
                data = self._inflater.unconsumed_tail
            self._taken = place - len(data)
            self.produced += len(piece)
            if piece:
                yield piece
            elif at_end and not self._between:
                raise ImageError("its gzip data end too early")
            elif at_end:
                return


def _inflater() -> zlib._Decompress:
    return zlib.decompressobj(zlib.MAX_WBITS | 16)

"""Layers behind zstd. Its decoder keeps no state that could be gone back to: such a layer is inflated into a nameless
temporary file, which is gone when the program ends, however that happens."""

from __future__ import annotations

import io
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from sm120kit.snapshot.image.errors import ImageError
from sm120kit.snapshot.image.sources import PIECE, Part

HINT = "Install it beside sm120kit with: pip install zstandard. Or write the image with gzip or no compression."


class Zstd:
    """What a zstd stream holds."""

    def __init__(self, stored: Part, seen: Callable[[bytes], object] = lambda _: None) -> None:
        self._stored = stored
        self._seen = seen
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the image is read
        weakref.finalize(self, self._spool.close)

    def pieces(self) -> Iterator[bytes]:
        """Inflate it, once."""
        with _open(io.BufferedReader(_Raw(self._stored, self._seen), PIECE)) as reader:
            while piece := _read(reader):
                self._spool.write(piece)
                yield piece
        self._spool.flush()

    def at(self, offset: int, size: int) -> bytes:
        self._spool.seek(offset)
        return self._spool.read(size)


class _Raw(io.RawIOBase):
    """A part of an archive as Python's readers want it."""

    def __init__(self, stored: Part, seen: Callable[[bytes], object]) -> None:
        self._pieces = stored.pieces()
        self._seen = seen
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = next(self._pieces, b"")
            self._seen(self._left)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


def _open(stored: io.BufferedReader) -> Any:
    """A reader of the inflated bytes, by the standard library (Python 3.14) or the package zstandard."""
    try:
        from compression import zstd

        return zstd.ZstdFile(stored)
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError as error:
        raise ImageError("it is compressed with zstd, and this Python has no module for that", HINT) from error
    return zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True)


def _read(reader: Any) -> bytes:
    try:
        piece: bytes = reader.read(PIECE)
    except (ImageError, OSError):
        raise
    except Exception as error:  # each module has an error class of its own
        raise ImageError(f"its zstd data are damaged ({error})") from error
    return piece

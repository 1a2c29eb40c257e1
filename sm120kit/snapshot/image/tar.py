"""The headers of a tar archive, read forward, each within bounds: pax and GNU extensions included.

The standard library's reader keeps every member and reads an extended header of any size into memory. Of it only the
reading of one 512-byte block is used.
"""

from __future__ import annotations

import math
import stat
import tarfile
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from sm120kit.snapshot.image.errors import ImageError
from sm120kit.snapshot.image.sources import Part

LONGEST_PATH = 4096
"""Bytes of a name or of a link's text: Linux takes no longer ones."""
_LONGEST_EXTENSION = 1 << 20
"""Bytes of an extended header; those of real layers hold capabilities and labels of a few hundred bytes."""

CUT = "its tar data end too early"

_BLOCK = 512
_KINDS = {
    tarfile.SYMTYPE: stat.S_IFLNK,
    tarfile.DIRTYPE: stat.S_IFDIR,
    tarfile.CHRTYPE: stat.S_IFCHR,
    tarfile.BLKTYPE: stat.S_IFBLK,
    tarfile.FIFOTYPE: stat.S_IFIFO,
    tarfile.LNKTYPE: 0,
}
_EXTENSIONS = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME,
               tarfile.GNUTYPE_LONGLINK)  # fmt: skip


class Entry(NamedTuple):
    """One member. ``mode`` holds its kind too; of a hard link that is 0, and ``link`` names the other one."""

    name: str
    mode: int
    size: int
    modified: float
    link: str
    offset: int
    """Where its bytes begin in the archive; -1 where they do not lie there in one piece (a sparse file)."""


class Reader(Protocol):
    """An archive that is read from its beginning to its end."""

    position: int

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes; fewer at the end."""
        ...

    def skip(self, size: int) -> None:
        """Pass over the next ``size`` bytes. Raises :class:`ImageError` where there are not so many."""
        ...


class Forward:
    """A :class:`Reader` of bytes that come in pieces and must all be seen."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""
        self._used = 0
        self.position = 0

    def take(self, size: int) -> bytes:
        parts = []
        while size and (self._used < len(self._piece) or self._next()):
            parts.append(self._piece[self._used : self._used + size])
            self._used += len(parts[-1])
            size -= len(parts[-1])
        found = parts[0] if len(parts) == 1 else b"".join(parts)
        self.position += len(found)
        return found

    def skip(self, size: int) -> None:
        self.position += size
        while size:
            here = min(size, len(self._piece) - self._used)
            self._used += here
            size -= here
            if size and not self._next():
                raise ImageError(CUT)

    def finish(self) -> None:
        """Read on to the end."""
        while self._next():
            pass

    def _next(self) -> bool:
        self._piece, self._used = next(self._pieces, b""), 0
        return bool(self._piece)


class Skipping:
    """A :class:`Reader` of bytes at any place, that passes over what is not asked for."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self.position = 0

    def take(self, size: int) -> bytes:
        found = self._part.at(self.position, size)
        self.position += len(found)
        return found

    def skip(self, size: int) -> None:
        self.position += size
        if self.position > self._part.size:
            raise ImageError(CUT)


def entries(archive: Reader) -> Iterator[Entry]:
    """Every member in order. The archive stands behind the member's bytes when the next one is asked for.

    Raises:
        ImageError: a header is damaged, or says what no file can have.
    """
    extended: dict[str, str] = {}
    while block := archive.take(_BLOCK):
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            if len(block) == _BLOCK and not block.strip(b"\0"):
                return
            raise ImageError(f"its tar data are damaged ({error})") from error
        if info.size < 0:
            raise ImageError("it holds a file of negative size")
        if info.type in _EXTENSIONS:
            extended.update(_extension(archive, info))
            continue
        yield _entry(archive, info, extended)
        extended = {}
    raise ImageError(CUT)


def _extension(archive: Reader, info: tarfile.TarInfo) -> dict[str, str]:
    if info.size > _LONGEST_EXTENSION:
        raise ImageError(f"a header of it is {info.size} bytes long")
    content = archive.take(info.size)
    archive.skip(-info.size % _BLOCK)
    if info.type == tarfile.XGLTYPE:
        return {}
    if info.type == tarfile.GNUTYPE_LONGNAME:
        return {"path": _text(content.partition(b"\0")[0])}
    if info.type == tarfile.GNUTYPE_LONGLINK:
        return {"linkpath": _text(content.partition(b"\0")[0])}
    return _pax(content)


def _pax(content: bytes) -> dict[str, str]:
    """Records of the form ``LENGTH KEY=VALUE\\n``, the length counted over all of it."""
    found: dict[str, str] = {}
    start = 0
    while start < len(content) and content[start : start + 1] != b"\0":
        digits, space, _ = content[start : start + 20].partition(b" ")
        if not (space and digits.isdigit()) or not len(digits) + 1 < int(digits) <= len(content) - start:
            raise ImageError("a pax header of it is damaged")
        end = start + int(digits)
        key, _, value = content[start + len(digits) + 1 : end - 1].partition(b"=")
        found[_text(key)] = _text(value)
        start = end
    return found


def _entry(archive: Reader, info: tarfile.TarInfo, extended: dict[str, str]) -> Entry:
    sparse = info.type == tarfile.GNUTYPE_SPARSE or any(key.startswith("GNU.sparse.") for key in extended)
    kind = _KINDS.get(info.type, stat.S_IFREG)
    stored = _number(extended.get("size"), info.size) if kind == stat.S_IFREG else 0
    if info.type == tarfile.GNUTYPE_SPARSE:
        _skip_sparse_maps(archive, info)
    offset = archive.position
    archive.skip(stored + -stored % _BLOCK)
    name = extended.get("GNU.sparse.name") or extended.get("path") or info.name
    link = extended.get("linkpath") or info.linkname
    if len(name) > LONGEST_PATH or len(link) > LONGEST_PATH:
        raise ImageError(f"it holds a name of more than {LONGEST_PATH} characters")
    if "\0" in name or "\0" in link:
        raise ImageError("it holds a name with a NUL in it")
    size = _number(extended.get("GNU.sparse.realsize") or extended.get("GNU.sparse.size"), stored)
    mode = kind and kind | info.mode & 0o7777
    return Entry(name, mode, size, _time(extended.get("mtime"), info.mtime), link, -1 if sparse else offset)


def _skip_sparse_maps(archive: Reader, info: tarfile.TarInfo) -> None:
    more = info._sparse_structs[1]  # type: ignore[attr-defined]
    while more:
        block = archive.take(_BLOCK)
        if len(block) < _BLOCK:
            raise ImageError(CUT)
        more = block[504]


def _number(text: str | None, otherwise: int) -> int:
    if text is None:
        return otherwise
    if not (text.isdecimal() and len(text) <= 18):
        raise ImageError("a pax header of it is damaged")
    return int(text)


def _time(text: str | None, otherwise: float) -> float:
    try:
        seconds = float(text) if text is not None else float(otherwise)
    except (ValueError, OverflowError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")

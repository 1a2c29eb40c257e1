"""Which logs a fleet wrote, and reading them from their end."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator

from sm120kit.fleet.types import Fleet, Replica

_NAME = re.compile(r"replica-(?P<index>\d+)-\d{8}T\d{6}-(?P<supervisor>\d+)-(?P<start>\d+)\.log")
_PIECE = 1 << 16
_LONGEST = 1 << 20
"""Bytes of a line of which the beginning is looked for; what is longer is cut there."""


def starts(fleet: Fleet, replica: Replica) -> dict[int, str]:
    """Path of the log of each start of a replica in this launch, by the number of the start, in their order."""
    folder = os.path.dirname(replica.log)
    supervisor = fleet.supervisor.pid if fleet.supervisor else None
    found: dict[int, str] = {}
    try:
        names = os.listdir(folder)
    except OSError:
        names = []
    for name in names:
        match = _NAME.fullmatch(name)
        if match and int(match["index"]) == replica.index and int(match["supervisor"]) == supervisor:
            found[int(match["start"])] = os.path.join(folder, name)
    return dict(sorted(found.items()))


def _is_kept(_line: bytes) -> bool:
    return True


class Tail:
    """One log, read from its last lines on."""

    def __init__(self, path: str, lines: int, keeps: Callable[[bytes], bool] = _is_kept) -> None:
        """``keeps``: which lines count and are given.

        Raises:
            OSError: it cannot be opened, or is no file.
        """
        self.path = path
        self._keeps = keeps
        self.left_out = 0
        """Lines that were read and not kept."""
        # A pipe must not keep us waiting.
        self._file = open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb")  # noqa: PTH123, SIM115
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            self._file.close()
            raise OSError(errno.EINVAL, "it is no file", path)
        self._file.seek(_place_of_last(self._file.fileno(), lines, keeps))
        self._rest = b""

    def lines(self) -> Iterator[str]:
        """The whole lines that have come since it was last asked."""
        while piece := self._file.read(_PIECE):
            *whole, self._rest = (self._rest + piece).split(b"\n")
            yield from self._kept(whole)

    def rest(self) -> Iterator[str]:
        """What stands after the last line break, once nothing more will come."""
        yield from self.lines()
        if self._rest:
            yield from self._kept([self._rest])
            self._rest = b""

    def close(self) -> None:
        """Read no more of it."""
        self._file.close()

    def _kept(self, lines: Iterable[bytes]) -> Iterator[str]:
        for line in lines:
            if self._keeps(line):
                yield line.decode("utf-8", "surrogateescape")
            else:
                self.left_out += 1


def _place_of_last(descriptor: int, lines: int, keeps: Callable[[bytes], bool]) -> int:
    """Where the last ``lines`` lines that are kept begin."""
    end = place = os.fstat(descriptor).st_size
    if lines == 0:
        return end
    missing, rest = lines, b""
    while place > 0:
        begin = max(0, place - _PIECE)
        first, *whole = (os.pread(descriptor, place - begin, begin) + rest).split(b"\n")
        if place == end and whole and not whole[-1]:
            whole.pop()  # what stands after the last line break is no line
            where = end - 1
        else:
            where = place + len(rest)
        for line in reversed(whole):
            where -= len(line)
            missing -= keeps(line)
            if missing == 0:
                return where
            where -= 1
        rest, place = (first, begin) if len(first) <= _LONGEST else (b"", begin)
    return 0

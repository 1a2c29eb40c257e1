"""Which logs a fleet wrote, and reading them from their end."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator

from sm120kit.fleet.types import Fleet, Replica

_NAME = re.compile(r"replica-(?P<index>\d+)-\d{8}T\d{6}-(?P<supervisor>\d+)-(?P<start>\d+)\.log")
_PIECE = 1 << 16


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


class Tail:
    """One log, read from its last lines on."""

    def __init__(self, path: str, lines: int) -> None:
        """
        Raises:
            OSError: it cannot be opened, or is no file.
        """
        self.path = path
        # A pipe must not keep us waiting.
        self._file = open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb")  # noqa: PTH123, SIM115
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            self._file.close()
            raise OSError(errno.EINVAL, "it is no file", path)
        self._file.seek(_place_of_last(self._file.fileno(), lines))
        self._rest = b""

    def lines(self) -> Iterator[str]:
        """The whole lines that have come since it was last asked."""
        while piece := self._file.read(_PIECE):
            *whole, self._rest = (self._rest + piece).split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "surrogateescape")

    def rest(self) -> Iterator[str]:
        """What stands after the last line break, once nothing more will come."""
        yield from self.lines()
        if self._rest:
            yield self._rest.decode("utf-8", "surrogateescape")
            self._rest = b""

    def close(self) -> None:
        """Read no more of it."""
        self._file.close()


def _place_of_last(descriptor: int, lines: int) -> int:
    """Where the last ``lines`` lines begin."""
    end = place = os.fstat(descriptor).st_size
    if lines == 0:
        return end
    missing = lines + 1  # the line break before the first of them counts too
    while place > 0:
        begin = max(0, place - _PIECE)
        piece = os.pread(descriptor, place - begin, begin)
        if place == end and not piece.endswith(b"\n"):
            missing -= 1  # a line that is being written is one
        for position in range(len(piece) - 1, -1, -1):
            if piece[position] == 0x0A:
                missing -= 1
                if missing == 0:
                    return begin + position + 1
        place = begin
    return 0

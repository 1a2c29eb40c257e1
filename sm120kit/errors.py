"""The one error class that users meet, and the exit codes of every command."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Final

GOOD: Final = 0
FINDINGS: Final = 1
USAGE: Final = 2
OWN_FAULT: Final = 3
TARGET_UNREADABLE: Final = 4
INTERRUPTED: Final = 130


_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG})


def code_of(error: OSError) -> int:
    """The exit code where a file that was named cannot be read, unless it is the target itself: not there, or no file,
    is wrong usage; one that is there and cannot be read leaves something unexamined."""
    return USAGE if error.errno in _NOT_THERE else TARGET_UNREADABLE


class Sm120kitError(Exception):
    """Something a person can act on: what was found and where, and in ``hint`` what to do. ``listed`` are the names
    that the hint ends with, where these are many.

    ``exit_code`` is one of the codes above; the command line prints message and hint, never a traceback.
    """

    def __init__(self, message: str, *, hint: str = "", listed: Sequence[str] = (), exit_code: int = USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.listed = tuple(listed)
        self.exit_code = exit_code

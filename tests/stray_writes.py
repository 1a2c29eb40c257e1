"""Lets a test fail at the first write outside the temporary folder, whoever tries it in this process."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PLACES = {  # event of the interpreter → its arguments that are written to, each with the folder it is relative to
    "os.chmod": ((0, 2),),
    "os.link": ((1, 3),),
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.rmdir": ((0, 1),),
    "os.symlink": ((1, 2),),
}
_watching: list[str] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching:
        return
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES:
        _refuse_outside(event, arguments[0], -1)
    for place, folder in _PLACES.get(event, ()):
        _refuse_outside(event, arguments[place], arguments[folder])


def _refuse_outside(event: str, path: object, folder: object) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return
    base = os.readlink(f"/proc/self/fd/{folder}") if isinstance(folder, int) and folder >= 0 else os.getcwd()
    absolute = os.path.normpath(os.path.join(base, os.fsdecode(path)))
    own = absolute.startswith((f"{_watching[-1]}/", "/dev/")) or "/__pycache__/" in absolute
    assert own, f"{event} outside the temporary folder: {absolute}"


sys.addaudithook(_watch)


@contextlib.contextmanager
def no_stray_writes() -> Iterator[None]:
    """Nothing outside the temporary folder (and bytecode caches) is written in here."""
    _watching.append(os.path.abspath(tempfile.gettempdir()))
    try:
        yield
    finally:
        _watching.pop()

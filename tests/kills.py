"""Ends work by SIGKILL before its n-th write, for every n."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterator

WRITES = (
    "mkdir", "chmod", "symlink", "replace", "rename", "link", "unlink", "rmdir", "write", "fchmod", "fsync", "open",
    "ftruncate", "pwrite",
)  # fmt: skip
"""Functions of os through which the repair room changes anything."""


def killed_at(count: int, work: Callable[[], object], only_below: str = "") -> bool:
    """Do ``work`` in a forked child that is killed before its ``count``-th write; False when it came to its end.

    With ``only_below``, writes count that name a path below that folder.
    """
    return os.WIFSIGNALED(_child(count, work, only_below))


def count_writes(work: Callable[[], object], only_below: str) -> int:
    """How many writes ``work`` makes below a folder, at most 255. It is done, in a forked child."""
    return os.waitstatus_to_exitcode(_child(-1, work, only_below))


def _child(killed_at: int, work: Callable[[], object], only_below: str) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of earlier tests hold no lock of ours
        child = os.fork()
    if child == 0:
        made = 0

        def counting(real: Callable[..., object]) -> Callable[..., object]:
            def write(*arguments: object, **named: object) -> object:
                nonlocal made
                # Some take two paths, and the one that is changed is the second.
                below = any(str(each).startswith(only_below) for each in arguments[:2] if isinstance(each, str))
                made += below or not only_below
                if made == killed_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*arguments, **named)

            return write

        real = {name: getattr(os, name) for name in WRITES}
        real["fsync"] = lambda _descriptor: None  # a kill loses nothing that was written, synced or not
        for name, function in real.items():
            setattr(os, name, counting(function))
        try:
            work()
        finally:
            os._exit(min(made, 255))
    return os.waitpid(child, 0)[1]


def every_kill(work: Callable[[], object]) -> Iterator[int]:
    """Yield after each kill, once for every write that ``work`` makes."""
    count = 1
    while killed_at(count, work):
        yield count
        count += 1
    assert count > 20, "hardly a write was seen: the counting is broken"

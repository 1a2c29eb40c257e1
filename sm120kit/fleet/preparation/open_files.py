"""Files of this machine, read so that a network mount that is dead cannot hold up a launch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sm120kit.snapshot.files import Files
from sm120kit.snapshot.mounts import slow_mounts


@contextmanager
def open_files() -> Iterator[Files]:
    """What lies on network and fuse mounts is read in a child that is ended where it does not answer."""
    try:
        slow = slow_mounts(Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape"))
    except OSError:
        slow = ()
    if not slow:
        yield Files()
        return
    from sm120kit.snapshot.slow_reader import KillableReader

    reader = KillableReader()
    try:
        yield Files("", slow, reader)
    finally:
        reader.close()

"""What a server says, read as it comes: without secrets into its log, line by line to whoever follows it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable

from sm120kit.fleet.supervision.secrets import Redactor

_PIECE = 1 << 16
_LONGEST_LINE = 1 << 20
_PIPE_SIZE = 1 << 20
"""A server must not wait for us while we are busy."""


class LogPipe:
    """One pipe from a server to its log file. Made inside a running event loop.

    ``writer`` is the end that the server writes to; close it with :meth:`hand_over` once the server has it.
    """

    def __init__(
        self,
        path: str,
        redactor: Redactor,
        on_line: Callable[[str], None],
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self.path = path
        self._file = os.open(path, flags, 0o600)
        try:
            self._reader, self.writer = os.pipe()
        except OSError:
            os.close(self._file)
            raise
        with contextlib.suppress(OSError):  # beyond what this user may have: then it is smaller
            fcntl.fcntl(self._reader, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        os.set_blocking(self._reader, False)
        self._redactor, self._on_line = redactor, on_line
        self._rest = b""
        self._on_failure: Callable[[str], None] | None = on_failure
        asyncio.get_running_loop().add_reader(self._reader, self._read)

    def hand_over(self) -> None:
        """The server has its end now."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def close(self) -> None:
        """Take what is still in the pipe, and end. What a descendant writes later is lost."""
        self.hand_over()
        for _ in range(2 * _PIPE_SIZE // _PIECE):  # one that goes on writing must not keep us here
            if self._reader < 0 or not self._read():
                break
        self._end()

    def _read(self) -> bool:
        """Take one piece; False when there is none now."""
        try:
            piece = os.read(self._reader, _PIECE)
        except BlockingIOError:
            return False
        if not piece:
            self._end()
            return False
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            lines.append(self._rest)
            self._rest = b""
        self._take(lines)
        if b"\r" in self._rest:
            self._show_progress()
        return True

    def _show_progress(self) -> None:
        """A progress bar is one line that is written over again and again: its latest form is worth following."""
        latest = self._rest.rstrip(b"\r").rpartition(b"\r")[2]
        self._on_line(self._redactor.text(latest.decode("utf-8", "surrogateescape")))

    def _take(self, lines: list[bytes]) -> None:
        if not lines:
            return
        texts = [self._redactor.text(line.decode("utf-8", "surrogateescape")) for line in lines]
        self._write("".join(f"{text}\n" for text in texts).encode("utf-8", "surrogateescape"))
        for text in texts:
            self._on_line(text)

    def _write(self, raw: bytes) -> None:
        try:
            while raw:
                raw = raw[os.write(self._file, raw) :]
        except OSError as error:
            if self._on_failure:  # once: the server goes on all the same, and so does the disk's state
                self._on_failure(f"{self.path} cannot be written: {error.strerror}")
                self._on_failure = None

    def _end(self) -> None:
        if self._reader < 0:
            return
        asyncio.get_running_loop().remove_reader(self._reader)
        os.close(self._reader)
        self._reader = -1
        rest, self._rest = self._rest, b""
        self._take([rest] if rest else [])
        os.close(self._file)

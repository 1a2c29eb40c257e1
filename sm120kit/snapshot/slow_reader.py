"""Reads on network and fuse mounts, in one child process that is killed when it does not answer in time."""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import selectors
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

ANSWER_LIMIT_S = 3.0
"""Seconds one operation may take before its mount counts as dead."""


class KillableReader:
    """Asks a child; after one silence every later question about that mount is refused at once."""

    def __init__(self, root: str = "", limit_s: float = ANSWER_LIMIT_S) -> None:
        self._root = root
        self._limit_s = limit_s
        self._child: subprocess.Popen[bytes] | None = None
        self._dead: set[str] = set()
        self._lock = threading.Lock()

    def ask(self, operation: str, path: str, limit: int, mount: str, ranges: Sequence[tuple[int, int]] = ()) -> object:
        """See :class:`sm120kit.snapshot.files.SlowReader`."""
        question = {"operation": operation, "path": os.fsencode(path).hex(), "limit": limit, "ranges": list(ranges)}
        with self._lock:
            if mount in self._dead:
                raise OSError(errno.ETIMEDOUT, f"the network or fuse mount {mount} did not answer", path)
            try:
                answer = self._exchange(question)
            except OSError as error:
                self._dead.add(mount)
                self.close()
                raise OSError(errno.ETIMEDOUT, f"the network or fuse mount {mount} did not answer", path) from error
        if "errno" in answer:
            raise OSError(answer["errno"], answer["text"], path)
        value = answer["value"]
        if operation == "read":
            return base64.b64decode(value)
        if operation == "pieces":
            return [base64.b64decode(each) for each in value]
        if operation in ("real_host", "link"):
            return os.fsdecode(bytes.fromhex(value))
        if operation == "names":
            return [os.fsdecode(bytes.fromhex(each)) for each in value]
        return value

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.kill()
            for stream in (self._child.stdin, self._child.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(0.2)
            self._child = None

    def _exchange(self, question: dict[str, object]) -> dict[str, Any]:
        child = self._child or self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(question).encode() + b"\n")
        child.stdin.flush()
        answer: dict[str, Any] = json.loads(_read_line(child.stdout.fileno(), self._limit_s))
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        self._child = subprocess.Popen(
            [sys.executable, "-S", "-m", "sm120kit.snapshot.slow_reader", self._root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        return self._child


def _read_line(descriptor: int, limit_s: float) -> bytes:
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        pieces = b""
        while not pieces.endswith(b"\n"):
            if not selector.select(limit_s):
                raise TimeoutError(errno.ETIMEDOUT, "no answer")
            piece = os.read(descriptor, 1 << 20)
            if not piece:
                raise OSError(errno.EPIPE, "the reader ended")
            pieces += piece
        return pieces


def _serve(root: str) -> None:
    from sm120kit.snapshot.files import Files

    files = Files(root)
    for line in sys.stdin.buffer:
        question = json.loads(line)
        path = os.fsdecode(bytes.fromhex(question["path"]))
        operation = question["operation"]
        answer: dict[str, object]
        try:
            if operation == "read":
                answer = {"value": base64.b64encode(files.read(path, question["limit"])).decode()}
            elif operation == "pieces":
                pieces = files.pieces(path, question["ranges"])
                answer = {"value": [base64.b64encode(piece).decode() for piece in pieces]}
            elif operation in ("real_host", "link"):
                answer = {"value": os.fsencode(getattr(files, operation)(path)).hex()}
            elif operation == "names":
                answer = {"value": [os.fsencode(name).hex() for name in files.names(path)]}
            else:
                answer = {"value": getattr(files, operation)(path)}
        except OSError as error:
            answer = {"errno": error.errno or errno.EIO, "text": error.strerror or str(error)}
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve(sys.argv[1] if len(sys.argv) > 1 else "")

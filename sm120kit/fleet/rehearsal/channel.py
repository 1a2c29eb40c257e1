"""Between the process that speaks HTTP and its scheduler: JSON, a message a line, over a pair of sockets."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

from sm120kit.fleet.rehearsal.loop import Callback, Loop, received

HEALTH = "HEALTH_CHECK"
"""How the id of a health probe begins: it is run only where nothing else is."""


class Channel:
    """One end. What cannot be sent at once is kept: the other side may be stopped for as long as it likes."""

    def __init__(self, loop: Loop, sock: socket.socket, told: Callable[[dict[str, Any]], None], ended: Callback):
        self.loop, self.sock, self.told, self.ended = loop, sock, told, ended
        self._incoming = self._outgoing = b""
        sock.setblocking(False)
        loop.watch(sock, self._readable)

    def send(self, message: dict[str, Any]) -> None:
        """One message."""
        self._outgoing += json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self._writable()

    def close(self) -> None:
        """Send and read nothing more."""
        if self.sock.fileno() >= 0:
            self.loop.watch(self.sock, None)
            self.sock.close()

    def _readable(self) -> None:
        data = received(self.sock)
        if data is None:
            return
        if not data:
            self.close()
            self.ended()
            return
        *lines, self._incoming = (self._incoming + data).split(b"\n")
        for line in lines:
            self.told(json.loads(line))

    def _writable(self) -> None:
        if self.sock.fileno() < 0:
            return
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[self.sock.send(self._outgoing) :]
        except BlockingIOError:
            self.loop.watch(self.sock, self._readable, self._writable)
            return
        except OSError:
            self._outgoing = b""
            return
        self.loop.watch(self.sock, self._readable)

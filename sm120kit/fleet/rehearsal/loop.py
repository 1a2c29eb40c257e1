"""One thread that waits for sockets and for moments. asyncio costs a stand-in more than all the rest of its start."""

from __future__ import annotations

import heapq
import itertools
import selectors
import socket
import time
from collections.abc import Callable

Callback = Callable[[], None]

PIECE = 256 << 10
"""Bytes that are sent or received at once."""


def received(sock: socket.socket) -> bytes | None:
    """What has come; empty where the other side is gone, ``None`` where nothing is there yet."""
    try:
        return sock.recv(PIECE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


class Timer:
    """Something that is done at its moment, unless it is cancelled before."""

    __slots__ = ("do",)

    def __init__(self, do: Callback) -> None:
        self.do: Callback | None = do

    def cancel(self) -> None:
        """Do nothing when the moment comes."""
        self.do = None


class Loop:
    """Runs callbacks until it is stopped."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Timer]] = []
        self._numbers = itertools.count()
        self._running = True

    def after(self, seconds: float, do: Callback) -> Timer:
        """Do something in so many seconds."""
        timer = Timer(do)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._numbers), timer))
        return timer

    def every(self, seconds: float, do: Callback) -> None:
        """Do something again and again."""

        def again() -> None:
            do()
            self.after(seconds, again)

        self.after(seconds, again)

    def watch(self, sock: socket.socket, readable: Callback | None, writable: Callback | None = None) -> None:
        """Call these whenever the socket can be read or written; neither = look at it no longer."""
        events = (selectors.EVENT_READ if readable else 0) | (selectors.EVENT_WRITE if writable else 0)
        known = sock.fileno() in self._selector.get_map()
        if not events:
            if known:
                self._selector.unregister(sock)
        elif known:
            self._selector.modify(sock, events, (readable, writable))
        else:
            self._selector.register(sock, events, (readable, writable))

    def run(self) -> None:
        """Go on until :meth:`stop`."""
        while self._running:
            self.once()

    def stop(self) -> None:
        """End :meth:`run` after the present callbacks."""
        self._running = False

    def once(self) -> None:
        """Wait for the next thing and do it."""
        limit = max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None
        for key, events in self._selector.select(limit):
            readable, writable = key.data
            if events & selectors.EVENT_READ and readable:
                readable()
            if events & selectors.EVENT_WRITE and writable and key.fd in self._selector.get_map():
                writable()
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if timer.do:
                timer.do()

"""HTTP/1.1 on the loop: as much of it as clients of an inference server use."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from sm120kit.fleet.rehearsal.loop import PIECE, Callback, Loop, received

_MOST_HEADER = 64 << 10
_MOST_BODY = 64 << 20


class Request:
    """One request, read whole."""

    __slots__ = ("body", "headers", "method", "path")

    def __init__(self, method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        self.method, self.path = method, target.partition("?")[0]
        self.headers, self.body = headers, body

    def json(self) -> Any:
        """The body.

        Raises:
            ValueError: it is no JSON.
        """
        return json.loads(self.body)


class Connection:
    """One client; its requests are answered one after another, in their order."""

    def __init__(
        self, loop: Loop, sock: socket.socket, peer: str, handle: Callable[[Connection, Request], None]
    ) -> None:
        self.loop, self.sock, self.peer, self.handle = loop, sock, peer, handle
        self.gone: Callback | None = None
        """Called once if the client leaves before it was answered."""
        self.answered: Callable[[str, int], None] | None = None
        self.line = ""
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._busy = self._closing = self._closed = False
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop.watch(sock, self._readable)

    def respond(self, status: int, body: bytes = b"", kind: str = "application/json") -> None:
        """Answer the request, whole."""
        self._head(status, f"content-length: {len(body)}\r\n", kind)
        self._outgoing += body
        self._finish()

    def respond_json(self, status: int, answer: object) -> None:
        """Answer the request with JSON."""
        self.respond(status, json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode())

    def begin_stream(self) -> None:
        """Answer the request piece by piece."""
        self._head(200, "transfer-encoding: chunked\r\n", "text/event-stream; charset=utf-8")
        self._send()

    def piece(self, data: bytes) -> None:
        """One piece of a streamed answer."""
        if not self._closed:
            self._outgoing += b"%x\r\n%b\r\n" % (len(data), data)
            self._send()

    def end_stream(self) -> None:
        """No piece follows."""
        self._outgoing += b"0\r\n\r\n"
        self._finish()

    def _head(self, status: int, length: str, kind: str) -> None:
        if self.answered:
            self.answered(self.line, status)
        close = "connection: close\r\n" if self._closing else ""
        self._outgoing += (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nserver: sm120kit-rehearsal\r\n"
            f"content-type: {kind}\r\n{length}{close}\r\n"
        ).encode("ascii")

    def _finish(self) -> None:
        self._busy, self.gone = False, None
        self._send()
        if not self._closed and self._incoming:
            self.loop.after(0, self._parse)

    def _readable(self) -> None:
        data = received(self.sock)
        if data is None:
            return
        if not data:
            self._close()
            return
        self._incoming += data
        if not self._busy:
            self._parse()

    def _parse(self) -> None:
        if self._busy or self._closed:
            return
        end = self._incoming.find(b"\r\n\r\n")
        if end < 0:
            if len(self._incoming) > _MOST_HEADER:
                self._refuse(431)
            return
        head, *fields = self._incoming[:end].decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        words = head.split(" ")
        length = headers.get("content-length", "0")
        if len(words) != 3 or not words[2].startswith("HTTP/1.") or not length.isdigit():
            self._refuse(400)
            return
        if "transfer-encoding" in headers:
            self._refuse(411)
            return
        if int(length) > _MOST_BODY:
            self._refuse(413)
            return
        begin = end + 4
        if len(self._incoming) < begin + int(length):
            return
        body = bytes(self._incoming[begin : begin + int(length)])
        del self._incoming[: begin + int(length)]
        self._busy, self.line = True, head
        self._closing = headers.get("connection", "").lower() == "close" or words[2] == "HTTP/1.0"
        self.handle(self, Request(words[0], words[1], headers, body))

    def _refuse(self, status: int) -> None:
        self._closing = self._busy = True
        self.respond(status, b"Invalid HTTP request received.", "text/plain; charset=utf-8")

    def _send(self) -> None:
        if self._closed:
            return
        try:
            while self._outgoing:
                sent = self.sock.send(memoryview(self._outgoing)[:PIECE])
                del self._outgoing[:sent]
        except BlockingIOError:
            self.loop.watch(self.sock, self._readable, self._send)
            return
        except OSError:
            self._close()
            return
        if self._closing and not self._busy:
            self._close()
        else:
            self.loop.watch(self.sock, self._readable)

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.loop.watch(self.sock, None)
        self.sock.close()
        if self.gone:
            self.gone()


def ask(
    loop: Loop, address: tuple[str, int], method: str, path: str, body: bytes, told: Callable[[int, bytes], None],
    *, headers: str = "", limit_s: float = 5.0,
) -> None:  # fmt: skip
    """One request to a server, which may be another one than it seems; ``told`` gets status and body, 0 = no answer."""
    _Question(loop, address, f"{method} {path} HTTP/1.1", headers, body, told, limit_s)


class _Question:
    def __init__(
        self, loop: Loop, address: tuple[str, int], line: str, headers: str, body: bytes,
        told: Callable[[int, bytes], None], limit_s: float,
    ) -> None:  # fmt: skip
        self.loop, self.told = loop, told
        self.answer = bytearray()
        self.question = (
            f"{line}\r\nhost: {address[0]}:{address[1]}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n{headers}\r\n"
        ).encode("latin-1") + body
        self.sock = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        self.sock.setblocking(False)
        self.timer = loop.after(limit_s, lambda: self._end(0))
        try:
            self.sock.connect(address)
        except BlockingIOError:
            pass
        except OSError:
            loop.after(0, lambda: self._end(0))
            return
        loop.watch(self.sock, None, self._writable)

    def _writable(self) -> None:
        try:
            sent = self.sock.send(self.question)
        except BlockingIOError:
            return
        except OSError:
            self._end(0)
            return
        self.question = self.question[sent:]
        if not self.question:
            self.loop.watch(self.sock, self._readable)

    def _readable(self) -> None:
        data = received(self.sock)
        if data is None:
            return
        self.answer += data
        if data:
            return
        words = bytes(self.answer).split(b" ", 2)
        self._end(int(words[1]) if len(words) > 1 and words[1].isdigit() else 0)

    def _end(self, status: int) -> None:
        if self.sock.fileno() < 0:
            return
        self.timer.cancel()
        self.loop.watch(self.sock, None)
        self.sock.close()
        self.told(status, bytes(self.answer).partition(b"\r\n\r\n")[2])

"""Another process that takes the port of a server while that one loads, and answers on it as a server would."""

from __future__ import annotations

import os
import socket
import time

_ANSWER = b'{"text":"rehearsal of another process on this port","model_path":"a stranger","is_generation":true}'
_LIFE_S = 600
"""It never outlives a drill by more than this, whatever becomes of who should end it."""


def take_port(host: str, port: int) -> None:
    """Start it, outside of our own process tree and session, and return when the port is its own."""
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        _let_go_of_all_but(told)
        _serve(host, port, told)
        os._exit(0)
    os.close(told)
    os.waitpid(child, 0)
    os.read(ready, 1)
    os.close(ready)


def _let_go_of_all_but(descriptor: int) -> None:
    """Nobody shall wait for the end of a pipe that a stranger holds."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, descriptor + 256)


def _serve(host: str, port: int, told: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError:  # somebody else has taken it: that does as well
            os.close(told)
            return
        listener.listen(64)
        os.close(told)
        listener.settimeout(1)
        until = time.monotonic() + _LIFE_S
        while time.monotonic() < until:
            try:
                client, _ = listener.accept()
            except TimeoutError:
                continue
            with client:
                client.settimeout(1)
                try:
                    client.recv(65536)
                    client.sendall(
                        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"
                        b"content-length: %d\r\n\r\n%b" % (len(_ANSWER), _ANSWER)
                    )
                except OSError:
                    continue

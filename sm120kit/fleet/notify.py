"""Tells systemd how far a service is (sd_notify(3)), where it is one."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from sm120kit.text import visible


class Notifier:
    """Speaks to the service manager that ``$NOTIFY_SOCKET`` names; without one it says nothing.

    The variable is taken out of the environment: servers are no business of the manager's.
    """

    def __init__(self) -> None:
        address = os.environ.pop("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._said = ""

    def status(self, text: str) -> None:
        """One line for ``systemctl status``; said again only when it changed."""
        if text != self._said:
            self._said = text
            self._send(f"STATUS={visible(text)}")

    def ready(self) -> None:
        """The service is up."""
        self._send("READY=1")

    def stopping(self) -> None:
        """The service goes down."""
        self._send("STOPPING=1")

    def _send(self, text: str) -> None:
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
            manager.settimeout(1)  # a manager that does not read must not keep us
            manager.sendto(text.encode("utf-8", "backslashreplace"), self._address)

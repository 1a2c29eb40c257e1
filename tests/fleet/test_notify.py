"""What the service manager is told."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from sm120kit.fleet.notify import Notifier


@pytest.mark.parametrize("abstract", [False, True])
def test_the_manager_hears_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abstract: bool) -> None:
    name = f"@sm120kit-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name[1:] if abstract else name)
        manager.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        notifier = Notifier()
        assert "NOTIFY_SOCKET" not in os.environ
        notifier.status("2 of 8\nREADY=1")
        notifier.status("2 of 8\nREADY=1")
        notifier.ready()
        notifier.stopping()
        assert [manager.recv(99) for _ in range(3)] == [b"STATUS=2 of 8\\nREADY=1", b"READY=1", b"STOPPING=1"]


def test_without_a_manager_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    Notifier().ready()
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody-listens"))
    Notifier().ready()

"""Where things are kept, whatever HOME says."""

from __future__ import annotations

import os
import pwd

import pytest

from sm120kit.xdg import xdg_folder


@pytest.mark.parametrize(
    ("named", "home", "folder"),
    [
        ("/state", "/home/me", "/state"),
        ("", "/home/me", "/home/me/.local/state"),
        ("relative", "/home/me", "/home/me/.local/state"),
        (None, "relative", f"{pwd.getpwuid(os.getuid()).pw_dir}/.local/state"),
        (None, None, f"{pwd.getpwuid(os.getuid()).pw_dir}/.local/state"),
    ],
)
def test_it_is_always_from_the_root_on(
    named: str | None, home: str | None, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("XDG_STATE_HOME", named), ("HOME", home)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert xdg_folder("XDG_STATE_HOME", ".local/state") == folder


def test_a_user_whom_no_database_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert xdg_folder("XDG_STATE_HOME", ".local/state") == "/.local/state"

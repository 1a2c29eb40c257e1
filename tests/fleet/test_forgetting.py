"""What an ended fleet left is removed as asked, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.forgetting import forget, is_recent
from sm120kit.fleet.process.identity import identify
from sm120kit.fleet.process.ours import SUPERVISOR
from sm120kit.fleet.state import folder_of, hold, make_folder, names, write_fleet
from sm120kit.fleet.types import Leftover
from tests.fleets import fleet, replica


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "sm120kit" / "fleets"


def left_by(name: str, log: str = "", **fields: object) -> None:
    """The folder of a fleet with its state and a log of one MiB."""
    folder = folder_of(name)
    make_folder(folder)
    Path(folder.logs, "replica-0.log").write_bytes(bytes(1 << 20))
    one = replica(0, "stopped", log=log or f"{folder.logs}/replica-0.log")
    write_fleet(folder, fleet(one, name=name, **{"ended": True, **fields}))


def test_state_and_logs_are_gone_and_it_was_said_before(home: Path) -> None:
    left_by("old")
    left_by("other")
    (home / ".forgotten-killed-1").mkdir()
    told: list[tuple[Leftover, bool]] = []
    forget("old", lambda left: told.append((left, os.path.isdir(left.folder))))
    ((left, was_there),) = told
    assert was_there
    assert (left.name, left.logs, left.elsewhere) == ("old", 1, ())
    assert left.size > 1 << 20
    assert os.listdir(home) == ["other"]
    assert names() == ("other",)


def test_logs_that_lie_elsewhere_stay(tmp_path: Path) -> None:
    log = tmp_path / "elsewhere" / "replica-0.log"
    log.parent.mkdir()
    log.touch()
    left_by("old", str(log))
    assert forget("old", lambda _: None).elsewhere == (str(log.parent),)
    assert log.exists()


def test_one_that_runs_is_never_forgotten() -> None:
    command = [sys.executable, "-c", "input()", SUPERVISOR, "runs"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as supervisor:
        left_by("runs", ended=False, supervisor=identify(supervisor.pid))
        with pytest.raises(Sm120kitError, match="runs, and only what has ended is forgotten"):
            forget("runs", lambda _: pytest.fail("nothing is removed"))
    left_by("begins")
    lock = hold(folder_of("begins"))
    assert lock is not None
    with pytest.raises(Sm120kitError, match="begins runs"):
        forget("begins", lambda _: pytest.fail("nothing is removed"))
    os.close(lock)
    assert names() == ("begins", "runs")


def test_a_state_that_cannot_be_read_is_forgotten_too() -> None:
    left_by("broken")
    Path(folder_of("broken").state).write_text("{")
    forget("broken", lambda _: None)
    assert names() == ()


def test_what_is_not_there_or_none_of_ours(home: Path, tmp_path: Path) -> None:
    left_by("qwen")
    with pytest.raises(Sm120kitError) as refused:
        forget("qwem", lambda _: None)
    assert (refused.value.exit_code, refused.value.hint) == (2, "Did you mean qwen?")
    (tmp_path / "precious").mkdir()
    (home / "link").symlink_to(tmp_path / "precious")
    with pytest.raises(Sm120kitError, match="is no folder"):
        forget("link", lambda _: None)
    assert (tmp_path / "precious").is_dir()


def test_recent_is_what_runs_and_what_ended_within_a_day() -> None:
    long_ago = fleet(replica(0), updated=1000.0)
    assert is_recent(long_ago, 1000.0 + 90_000)
    ended = fleet(replica(0), updated=1000.0, ended=True)
    assert [is_recent(ended, 1000.0 + age) for age in (0, 80_000, 90_000)] == [True, True, False]

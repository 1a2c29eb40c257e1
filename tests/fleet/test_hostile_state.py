"""Whatever a state names, nothing is ended or removed that is not ours. What would be is listed here, never done."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sm120kit.fleet import requests
from sm120kit.fleet.aftermath import end_orphans
from sm120kit.fleet.process.identity import identify
from sm120kit.fleet.process.mark_text import write_mark
from sm120kit.fleet.process.marks import VARIABLE
from sm120kit.fleet.process.ours import SUPERVISOR, supervises
from sm120kit.fleet.process.sweeper import end_stopped_sweeper
from sm120kit.fleet.runtime import make_runtime
from sm120kit.fleet.state import folder_of, load_fleet, make_folder, write_fleet
from sm120kit.fleet.supervising import read_fleet, stop
from sm120kit.fleet.types import ProcessId
from tests import fleets

SWEEPER = "sm120kit.fleet.process.sweeper"


@pytest.fixture(autouse=True)
def would(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Signals that would be sent and folders that would be removed."""
    told: list[str] = []

    def by_descriptor(descriptor: int, number: int) -> None:
        fields = Path(f"/proc/self/fdinfo/{descriptor}").read_text().split()
        told.append(f"{signal.Signals(number).name} to {fields[fields.index('Pid:') + 1]}")

    def noted(what: str) -> Any:
        return lambda *words, **_: told.append(f"{what} {words[0]}")

    monkeypatch.setattr(signal, "pidfd_send_signal", by_descriptor)
    monkeypatch.setattr(os, "kill", noted("kill"))
    monkeypatch.setattr(os, "killpg", noted("killpg"))
    monkeypatch.setattr(shutil, "rmtree", noted("rmtree"))
    return told


@contextmanager
def waiting(*words: str, mark: str | None = None, stopped: bool = False) -> Iterator[ProcessId]:
    """A process with these words on its command line that ends with the test."""
    environment = {**os.environ, **({} if mark is None else {VARIABLE: mark})}
    told = "import os, signal; print(flush=True); " + ("os.kill(os.getpid(), signal.SIGSTOP)" if stopped else "input()")
    command = [sys.executable, "-c", told, *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()
        if stopped:
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        found = identify(process.pid)
        assert found is not None
        try:
            yield found
        finally:
            if stopped:
                subprocess.run(["kill", "-CONT", str(process.pid)], check=True)


def ours() -> ProcessId:
    """The process of the tests."""
    found = identify(os.getpid())
    assert found is not None
    return found


def gone() -> ProcessId:
    """A process that has ended."""
    with waiting() as process:
        pass
    return process


def kept(**fields: Any) -> None:
    """A state that says so of a fleet that runs."""
    folder = folder_of("one")
    make_folder(folder)
    write_fleet(folder, fleets.fleet(fleets.replica(0), **{"name": "one", **fields}))


def all_of_it() -> None:
    """Every command that ends something."""
    read_fleet("one")
    stop(folder_of("one"), 0)
    end_orphans()


@pytest.mark.parametrize("mark", ["", "x", "-1--1-", "0-0-", "9" * 5000 + "-1-", f"1-2-{'f' * 36}", "of the living"])
def test_a_mark_ends_only_what_a_supervisor_left_that_is_gone(mark: str, would: list[str]) -> None:
    mark = write_mark(ours()) if mark == "of the living" else mark
    with waiting(mark=mark), waiting():
        kept(id=mark)
        all_of_it()
    assert would == []


def test_what_was_left_is_found(would: list[str]) -> None:
    mark = write_mark(gone())
    runtime = make_runtime(mark)
    with waiting(SWEEPER, "one", mark, stopped=True) as sweeper:
        kept(id=mark, runtime=runtime)
        # A process with such a mark would be ended by any other test that launches meanwhile.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sm120kit.fleet.aftermath.all_marks", lambda: {mark: ()})
            patch.setattr("sm120kit.fleet.aftermath.sweep", lambda each: would.append(f"sweep {each}"))
            all_of_it()
        assert would == [f"sweep {mark}", f"SIGKILL to {sweeper.pid}", f"rmtree {runtime}", f"sweep {mark}"]
    Path(runtime, "mark").unlink()
    os.rmdir(runtime)


@pytest.mark.parametrize("number", [0, 1, -1, 2**31, 2**70])
def test_a_number_alone_is_nobody(number: int, would: list[str]) -> None:
    for process in (ProcessId(number, 0, ""), identify(number) or replace(ours(), pid=number)):
        kept(supervisor=process)
        all_of_it()
        found = read_fleet("one")
        assert found is not None
        assert found.ended
    assert would == []


def test_a_supervisor_is_ended_only_where_it_is_one_of_that_fleet(would: list[str]) -> None:
    with waiting() as other, waiting(SUPERVISOR, "two") as of_another, waiting(SUPERVISOR, "one") as own:
        for process in (other, of_another):
            assert not supervises(process, "one")
            kept(supervisor=process, id=write_mark(process))
            all_of_it()
        assert would == []
        assert supervises(own, "one")
        assert not supervises(replace(own, started=own.started + 1), "one")
        kept(supervisor=own)
        found = read_fleet("one")
        assert found is not None
        assert not found.ended


def test_the_state_of_another_fleet_says_nothing_of_this_one() -> None:
    folder = folder_of("copy")
    make_folder(folder)
    write_fleet(folder, fleets.fleet(name="one"))
    with pytest.raises(Exception, match="it is the state of a fleet called 'one'"):
        load_fleet(folder)


def test_only_the_folder_that_was_made_for_a_launch_is_removed(tmp_path: Path, would: list[str]) -> None:
    mark = write_mark(gone())
    work, another, link = (tmp_path / f"sm120kit-{name}" for name in ("work", "another", "link"))
    work.mkdir()
    another.mkdir()
    (another / "mark").write_text(write_mark(ours()))
    own = make_runtime(mark)
    link.symlink_to(own)
    os.chdir(tmp_path)
    for path in ("", "/", ".", "sm120kit-work", str(work), str(another), str(link), str(tmp_path), "\0"):
        kept(id=mark, runtime=path)
        all_of_it()
    assert would == []
    Path(own, "mark").unlink()
    os.rmdir(own)


def test_only_a_stopped_sweeper_of_that_launch_is_ended(would: list[str]) -> None:
    with (
        waiting(SWEEPER, "one", "1-2-3", stopped=True) as sweeper,
        waiting(SWEEPER, "one", "1-2-3"),
        waiting(SWEEPER, "two", "1-2-3", stopped=True),
        waiting(SWEEPER, "one", "", stopped=True),
        waiting(stopped=True),
    ):
        end_stopped_sweeper("one", "1-2-3")
    assert would == [f"SIGKILL to {sweeper.pid}"]


def test_a_folder_elsewhere_holds_no_requests(tmp_path: Path) -> None:
    folder = folder_of("one")
    make_folder(folder)
    os.rmdir(folder.requests)
    (tmp_path / "notes.json").write_text("{}")
    os.symlink(tmp_path, folder.requests)
    assert requests.take(folder) == ()
    assert (tmp_path / "notes.json").exists()


def test_the_end_of_a_supervisor_that_is_ending_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([True, True, False])
    monkeypatch.setattr("sm120kit.fleet.process.ours.alive", lambda _: next(looks))
    monkeypatch.setattr("sm120kit.fleet.process.ours.command_line", lambda _: ())
    assert not supervises(ours(), "one")
    assert next(looks, None) is None

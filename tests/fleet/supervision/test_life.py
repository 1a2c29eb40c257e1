"""One replica's life, with small programs in place of servers and an engine that knows them."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import pytest

from sm120kit.fleet.process.child import Child
from sm120kit.fleet.process.family import family
from sm120kit.fleet.process.identity import alive, identify
from sm120kit.fleet.spec import FleetSpec, Limits, ReplicaSpec, RestartPolicy
from sm120kit.fleet.state import folder_of, load_fleet, make_folder
from sm120kit.fleet.supervision.board import Board
from sm120kit.fleet.supervision.gather import Gather
from sm120kit.fleet.supervision.life import Command, Life
from sm120kit.fleet.supervision.secrets import Redactor
from sm120kit.fleet.types import SCHEMA, Fleet, ProcessId, Replica

SERVES = "import time\nprint('ready', flush=True)\nwhile True: print('progress', flush=True); time.sleep(0.05)"
SERVES_WITH_A_WORKER = (
    "import subprocess, sys, time\n"
    "print('worker', subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).pid, flush=True)\n"
    f"{SERVES}"
)
BIND_ERROR = "[Errno 98] error while attempting to bind on address ('127.0.0.1', 31021): address already in use"
DIES = f"import sys\nprint({BIND_ERROR!r}, flush=True)\nsys.exit(3)"
DEAF = f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{SERVES}"
SILENT = "import time\nprint('ready', flush=True)\ntime.sleep(60)"
NEVER_READY = "import time\ntime.sleep(60)"


class Programs:
    """An engine whose servers are Python programs; each start takes the next one, the last again and again."""

    def __init__(self, *programs: str, answering: bool = False) -> None:
        self._programs, self._starts, self._answering = programs, 0, answering
        self.worker = 0
        self.cleaned = 0

    def command(self, _replica: ReplicaSpec) -> Command:
        program = self._programs[min(self._starts, len(self._programs) - 1)]
        self._starts += 1
        return Command((sys.executable, "-c", program), {"PATH": os.environ["PATH"]}, "/", lambda: None, self._clean)

    def _clean(self) -> None:
        self.cleaned += 1

    def phase(self, line: str) -> str:
        if line.startswith("worker "):
            self.worker = int(line.split()[1])
        return line if line.startswith("phase ") else ""

    def is_ready(self, line: str) -> bool:
        return line == "ready"

    def is_progress(self, line: str) -> bool:
        return line == "progress"

    def workers(self, _child: Child) -> dict[int, str]:
        return {self.worker: "worker"} if self.worker else {}

    async def answers(self, _replica: ReplicaSpec, _root: ProcessId) -> bool:
        await asyncio.sleep(60)
        return False

    def asker(self, _replica: ReplicaSpec) -> Callable[[float], Awaitable[bool]]:
        async def ask(limit_s: float) -> bool:
            await asyncio.sleep(0 if self._answering else limit_s)
            return self._answering

        return ask


class Scene:
    """A life at work, its board, and what is expected of it."""

    def __init__(self, engine: Programs, *, good: bool = True, most: int = 3, limits: Limits | None = None) -> None:
        self.engine = engine
        replica = ReplicaSpec(0, 31000, 29500)
        limits = limits or Limits(start=20, hang=20, drain=2)
        policy = RestartPolicy(most=most, first_delay=0.05)
        spec = FleetSpec("test", "model", (replica,), "0.5.23", sys.executable, limits=limits, restart=policy)
        self.folder = folder_of("test")
        make_folder(self.folder)
        first = Replica(0, "", 31000, None, "waiting", None, None, None)
        self.board = Board(self.folder, Fleet(SCHEMA, "0", "test", "quick", False, False, 0, (first,)))

        async def verify(indices: Sequence[int]) -> Mapping[int, bool]:
            return dict.fromkeys(indices, good)

        gather = Gather([0], verify)
        self.life = Life(spec, replica, self.board, engine, gather, self.folder.logs, Redactor(("topsecret",)))

    @property
    def replica(self) -> Replica:
        return self.board.fleet.replicas[0]

    def load(self) -> Fleet:
        """The state as others read it."""
        self.board.flush()
        fleet = load_fleet(self.folder)
        assert fleet is not None
        return fleet

    @property
    def said(self) -> str:
        return "\n".join(event.text for event in self.board.fleet.events)

    async def until(self, seen: Callable[[Replica], bool], limit_s: float = 15) -> None:
        limit = time.monotonic() + limit_s
        while not seen(self.replica):
            assert time.monotonic() < limit, (self.replica, self.said)
            await asyncio.sleep(0.01)

    async def stop(self, running: asyncio.Task[None]) -> None:
        child = self.life.child
        members = family(child.process) if child and not child.ended.is_set() else ()
        self.life.stopping.set()
        await asyncio.wait_for(running, 20)
        assert not [each for each in members if alive(each)]
        assert self.replica.pid is None
        assert self.engine.cleaned == self.engine._starts
        self.board.flush()
        assert load_fleet(self.folder) == self.board.fleet


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(test(), 60)

    asyncio.run(limited())


def test_from_start_to_stop() -> None:
    async def test() -> None:
        scene = Scene(Programs(SERVES))
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "verified")
        assert scene.load().verified
        assert scene.replica.pid is not None
        log = Path(scene.replica.log)
        assert log.stat().st_mode & 0o777 == 0o600
        await scene.stop(running)
        assert scene.replica.state == "stopped"
        assert not scene.load().verified
        assert log.read_text().startswith("ready\nprogress\n")

    run(test)


def test_a_kill_is_seen_at_once_and_answered_by_a_restart_that_is_verified_again() -> None:
    async def test() -> None:
        scene = Scene(Programs(SERVES))
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "verified")
        first = scene.replica
        assert first.pid is not None
        os.kill(first.pid, signal.SIGKILL)
        killed = time.monotonic()
        await scene.until(lambda replica: replica.state != "verified")
        assert time.monotonic() - killed < 1
        await scene.until(lambda replica: replica.state == "verified")
        assert scene.replica.pid != first.pid
        assert scene.replica.restarts == 1
        assert scene.replica.log != first.log
        assert scene.replica.deaths[0].exit == "signal SIGKILL"
        assert scene.replica.deaths[0].log == first.log
        await scene.stop(running)

    run(test)


def test_the_end_of_a_worker_is_the_end_of_the_server() -> None:
    async def test() -> None:
        scene = Scene(Programs(SERVES_WITH_A_WORKER))
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "verified")
        os.kill(scene.engine.worker, signal.SIGKILL)
        killed = time.monotonic()
        await scene.until(lambda replica: replica.state != "verified")
        assert time.monotonic() - killed < 1
        await scene.stop(running)

    run(test)


def test_a_server_that_cannot_start_is_given_up_with_its_cause() -> None:
    async def test() -> None:
        scene = Scene(Programs(DIES))
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "failed")
        assert len(scene.replica.deaths) == 2, "the same reason twice, before it ever answered"
        assert scene.replica.deaths[0].exit == "exit code 3"
        assert scene.replica.deaths[0].causes[0].check
        assert "is not started again" in scene.said
        await scene.stop(running)

    run(test)


def test_one_that_was_given_up_is_started_when_somebody_asks() -> None:
    async def test() -> None:
        scene = Scene(Programs(DIES, SERVES), most=0)
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "failed")
        scene.life.restart_asked.set()
        await scene.until(lambda replica: replica.state == "verified")
        await scene.stop(running)

    run(test)


def test_a_restart_that_was_asked_for_is_no_death() -> None:
    async def test() -> None:
        scene = Scene(Programs(SERVES))
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "verified")
        before = scene.replica.pid
        scene.life.restart_asked.set()
        await scene.until(lambda replica: replica.state == "verified" and replica.pid != before)
        assert scene.replica.deaths == ()
        assert scene.replica.restarts == 1
        await scene.stop(running)

    run(test)


def test_one_that_ignores_sigterm_is_killed_after_the_limit() -> None:
    async def test() -> None:
        scene = Scene(Programs(DEAF), limits=Limits(drain=0.3))
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "verified")
        begun = time.monotonic()
        await scene.stop(running)
        assert 0.3 <= time.monotonic() - begun < 5
        assert "did not end within 0.3 s of SIGTERM and is killed" in scene.said

    run(test)


def test_one_that_falls_silent_is_hung_then_ended_and_started_again() -> None:
    async def test() -> None:
        scene = Scene(Programs(SILENT, SERVES), limits=Limits(hang=0.5, drain=1))
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "hung")
        assert not scene.load().verified
        await scene.until(lambda replica: replica.state == "verified")
        assert scene.replica.deaths[0].exit == "hung for 1 s and was ended"
        await scene.stop(running)

    run(test)


def test_one_that_comes_back_keeps_its_state_and_its_process() -> None:
    async def test() -> None:
        scene = Scene(Programs(SERVES), limits=Limits(hang=0.5, drain=1))
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "verified")
        pid = scene.replica.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        await scene.until(lambda replica: replica.state == "hung")
        os.kill(pid, signal.SIGCONT)
        await scene.until(lambda replica: replica.state == "verified")
        assert scene.replica.pid == pid
        assert scene.replica.deaths == ()
        await scene.stop(running)

    run(test)


def test_one_that_never_answers_is_ended_at_the_limit() -> None:
    async def test() -> None:
        scene = Scene(Programs(NEVER_READY), most=0, limits=Limits(start=0.3))
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "failed")
        assert scene.replica.deaths[0].exit == "did not answer within 0.3 s and was ended"
        await scene.stop(running)

    run(test)


def test_what_is_not_verified_runs_on_and_says_so() -> None:
    async def test() -> None:
        scene = Scene(Programs(SERVES), good=False)
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "unverified")
        assert not scene.load().verified
        assert "not verified" in scene.said
        await scene.stop(running)

    run(test)


@pytest.mark.parametrize("program", [SERVES, NEVER_READY, DIES], ids=["serving", "loading", "dying"])
def test_it_can_be_stopped_at_any_time(program: str) -> None:
    async def test() -> None:
        for pause in (0, 0.02, 0.1, 0.3):
            scene = Scene(Programs(program))
            running = asyncio.ensure_future(scene.life.run())
            await asyncio.sleep(pause)
            await scene.stop(running)

    run(test)


def test_phases_are_shown_and_secrets_are_not_written() -> None:
    async def test() -> None:
        program = "import time\nprint('phase loading with key topsecret', flush=True)\ntime.sleep(60)"
        scene = Scene(Programs(program))
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.phase.startswith("phase"))
        await scene.stop(running)
        assert "topsecret" not in Path(scene.replica.log).read_text()
        assert "[redacted]" in Path(scene.replica.log).read_text()

    run(test)


def test_what_cannot_be_started_now_is_tried_again() -> None:
    class NoRoom(Programs):
        def command(self, replica: ReplicaSpec) -> Command:
            if self._starts == 0:
                self._starts += 1
                self.cleaned += 1
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().command(replica)

    async def test() -> None:
        scene = Scene(NoRoom(SERVES))
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "verified")
        assert [death.exit for death in scene.replica.deaths] == ["could not be started: No space left on device"]
        await scene.stop(running)

    run(test)


def test_a_server_that_cannot_be_watched_is_not_left_running(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    def none_left(pid: int) -> int:
        begun.append(pid)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async def test() -> None:
        scene = Scene(Programs(SERVES), most=1)
        monkeypatch.setattr(os, "pidfd_open", none_left)
        running = asyncio.ensure_future(scene.life.run())
        await scene.until(lambda replica: replica.state == "failed")
        assert len(begun) == 2
        assert not [pid for pid in begun if identify(pid)]
        monkeypatch.undo()
        await scene.stop(running)

    run(test)

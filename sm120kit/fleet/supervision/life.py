"""The life of one replica: started, loaded, verified, watched, and after a death started again."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple, Protocol

from sm120kit.fleet.process.child import Child, watch
from sm120kit.fleet.spec import FleetSpec, ReplicaSpec
from sm120kit.fleet.supervision.board import Board
from sm120kit.fleet.supervision.death import causes_in
from sm120kit.fleet.supervision.liveness import Ask, Liveness
from sm120kit.fleet.supervision.log_pipe import LogPipe
from sm120kit.fleet.supervision.racing import any_of, before_any
from sm120kit.fleet.supervision.restarting import after_death
from sm120kit.fleet.supervision.secrets import Redactor
from sm120kit.fleet.types import Cause, Death, ProcessId, State

_LOOK_S = 0.05
_GRACE_S = 10.0
"""What a server gets to write down why it ends once one of its processes is gone. A genuine one may keep the GPU for 66
seconds more, for dumps that nobody asked for."""
_DEATHS_KEPT = 10


class Command(NamedTuple):
    """How one server is started."""

    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    """Where it is started."""
    once_it_answers: Callable[[], None]
    """Removes what it needs only while it starts."""
    clean_up: Callable[[], None]
    """Removes what was laid down for it alone; called when it has ended."""


class PortTaken(Exception):  # noqa: N818 - reads as what it is
    """Somebody else listens on the port of a server that loads; the message says who."""


class Engine(Protocol):
    """What is known of the server: how it is started and asked, and what its log says."""

    def command(self, replica: ReplicaSpec) -> Command:
        """How this replica is started; lays down what it needs."""

    def phase(self, line: str) -> str:
        """What it is at, by a line of its log; empty where the line does not tell."""

    def is_ready(self, line: str) -> bool:
        """Whether the line says that it answers now."""

    def is_progress(self, line: str) -> bool:
        """Whether the line is written by a scheduler at work."""

    def workers(self, child: Child) -> dict[int, str]:
        """Numbers and names of the processes without which it is no server any more."""

    async def answers(self, replica: ReplicaSpec, root: ProcessId) -> bool:
        """Whether it says that it is ready; takes as long as that takes.

        Raises:
            PortTaken: a stranger answers there.
        """

    def asker(self, replica: ReplicaSpec) -> Ask:
        """How its scheduler is asked for a sign of life."""


class Verifier(Protocol):
    """Verifies replicas that answer; the first ones together, later ones beside what those gave."""

    async def verified(self, index: int) -> bool:
        """Wait for its turn and for the verdicts, which are put on the board."""

    def withdraw(self, index: int) -> None:
        """It answers no more; what was asked for it is void."""

    def give_up(self, index: int) -> None:
        """It will not answer, as far as one can see."""


class Life:
    """One replica. :meth:`run` goes on until it is stopped or given up."""

    def __init__(
        self,
        spec: FleetSpec,
        replica: ReplicaSpec,
        board: Board,
        engine: Engine,
        verifier: Verifier,
        logs: str,
        redactor: Redactor,
    ) -> None:
        self.spec, self.replica, self.board = spec, replica, board
        self._engine, self._verifier, self._logs, self._redactor = engine, verifier, logs, redactor
        self.child: Child | None = None
        self._pipe: LogPipe | None = None
        self._command: Command | None = None
        self._liveness: Liveness | None = None
        self._ready = False
        self._starts = 0
        self._answered_once = False
        self._judged = False
        self._killed_because = ""
        self._seen_cause: Cause | None = None
        """Why it ended, where we know that better than its log."""
        self.stopping = asyncio.Event()
        self.restart_asked = asyncio.Event()
        self.settled = asyncio.Event()
        """It answers, or never will."""

    @property
    def index(self) -> int:
        """Its number."""
        return self.replica.index

    async def run(self) -> None:
        """From the first start to the end."""
        try:
            while not self.stopping.is_set():
                await self._one_start()
                if self.stopping.is_set() or not await self._once_more():
                    break
        finally:
            self._verifier.give_up(self.index)
            self.settled.set()
            if self.child and not self.child.ended.is_set():
                await self._end()
        if self.stopping.is_set() and self.board.replica(self.index).state != "failed":
            self._state("stopped", pid=None, process=None, phase="")

    async def _one_start(self) -> None:
        """Start it, and return when it has ended."""
        self._killed_because, self._seen_cause = "", None
        try:
            child = self._start()
        except OSError as error:  # no room for its log, no process or open file left: that may pass
            self._killed_because = f"could not be started: {error.strerror or error}"
            await self._end()
            return
        try:
            if await self._first_of(self._until_ready(), self.spec.limits.start):
                self._answered_once = True
                assert self._command is not None
                self._command.once_it_answers()
                started = self.board.replica(self.index).started or time.time()
                self.board.change(self.index, ready_s=time.time() - started, phase="")
                self.board.say(f"answers after {time.time() - started:.0f} s", self.index)
                self.settled.set()
                await self._serve(child)
            elif not child.ended.is_set() and not self._asked_to_end:
                self._killed_because = f"did not answer within {self.spec.limits.start:g} s and was ended"
        except PortTaken as taken:
            self._killed_because = "its port was taken while it loaded, and it was ended"
            self._seen_cause = Cause("server.port-in-use", str(taken))
        finally:
            self._verifier.withdraw(self.index)
            await self._end()

    @property
    def _asked_to_end(self) -> bool:
        return self.stopping.is_set() or self.restart_asked.is_set()

    def _start(self) -> Child:
        self._starts += 1
        self._ready = False
        self.child = self._pipe = self._command = None
        self._command = self._engine.command(self.replica)
        name = f"replica-{self.index}-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}-{self._starts}.log"
        self._pipe = LogPipe(os.path.join(self._logs, name), self._redactor, self._line, self._log_failed)
        child = Child(self._command.arguments, self._command.environment, self._pipe.writer, self._command.folder)
        self.child = child
        self._pipe.hand_over()
        self._state(
            "loading",
            pid=child.pid,
            process=child.process,
            phase="starting",
            started=time.time(),
            ready_s=None,
            verdicts=(),
            granted=None,
            memory_used=None,
            tokens_per_second=None,
            roofline_share=None,
            log=self._pipe.path,
        )
        self.board.say(f"started as process {child.pid} on port {self.replica.port}", self.index)
        return child

    def _log_failed(self, text: str) -> None:
        self.board.say(f"{text}; it runs on without a log", self.index)

    def _line(self, line: str) -> None:
        phase = self._engine.phase(line)
        if phase and self.board.replica(self.index).state == "loading":
            self.board.change(self.index, phase=phase)
        if self._engine.is_ready(line):
            self._ready = True
        if self._liveness and self._engine.is_progress(line):
            self._liveness.progress()

    async def _until_ready(self) -> None:
        """Its log says so, or it answers where no such line comes. Neither proves that it is this server: that is the
        verification's."""
        assert self.child is not None
        root = self.child.process
        asked = asyncio.ensure_future(self._engine.answers(self.replica, root))
        try:
            while not self._ready:
                if asked.done():
                    if asked.result():
                        return
                    asked = asyncio.ensure_future(self._engine.answers(self.replica, root))
                await asyncio.sleep(_LOOK_S)
        finally:
            asked.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await asked

    async def _serve(self, child: Child) -> None:
        """Verify and watch it until it ends, hangs for good, or is to end."""
        self._liveness = Liveness(self._engine.asker(self.replica), self.spec.limits.hang)
        lost = asyncio.Event()

        def worker_ended(words: str) -> None:
            self._killed_because = self._killed_because or f"{words} ended first"
            lost.set()

        workers = self._engine.workers(child)
        watches = [watch(pid, partial(worker_ended, f"its process {pid}, {name},")) for pid, name in workers.items()]
        self._judged = False
        try:
            while not (self._asked_to_end or child.ended.is_set()):
                if not await self._first_of(self._verify_and_watch(self._liveness), None, lost):
                    await self._lost(child, lost)
                    return
                if not await self._hung():
                    return
        finally:
            for each in watches:
                each.close()

    async def _verify_and_watch(self, liveness: Liveness) -> None:
        """Return when it has been silent for too long; it may fall silent while it is verified, too."""
        if not self._judged:
            verifying = asyncio.ensure_future(self._verify())
            await any_of(verifying, liveness.until_silent(self.spec.limits.hang))
            if not self._judged:
                self._verifier.withdraw(self.index)
                if not verifying.cancelled() and (fault := verifying.exception()):
                    raise fault
                return
        await liveness.until_silent(self.spec.limits.hang)

    async def _verify(self) -> None:
        self._state("verifying")
        good = await self._verifier.verified(self.index)
        self._judged = True
        self._state("verified" if good else "unverified")
        if good:
            self.board.say(f"verified at level {self.spec.level}", self.index)
        else:
            wrong = [each for each in self.board.replica(self.index).verdicts if each.passed is False]
            reason = "; ".join(f"{each.name}: {each.evidence}" for each in wrong) or "a verdict is missing"
            self.board.say(f"not verified: {reason}", self.index)

    async def _hung(self) -> bool:
        """It has been silent for too long; True when it came back."""
        assert self._liveness is not None
        limit, before = self.spec.limits.hang, self.board.replica(self.index).state
        self._state("hung")
        self.board.say(f"hung: its scheduler has answered nothing and got nothing done for {limit:g} s", self.index)
        came_back: list[bool] = []

        async def wait() -> None:
            assert self._liveness is not None
            came_back.append(await self._liveness.until_answer(limit))

        await self._first_of(wait(), None)
        if came_back == [True]:
            self._state(before)
            self.board.say("answers again", self.index)
            return True
        if came_back == [False]:
            self._killed_because = f"hung for {2 * limit:g} s and was ended"
            self.board.say("is ended: it still answers nothing", self.index)
            if self.child:
                await self.child.kill()
        return False

    async def _lost(self, child: Child, lost: asyncio.Event) -> None:
        """It ended, or one of the processes that make it a server did: it may say why, not longer."""
        if self._asked_to_end or not (lost.is_set() or child.ended.is_set()):
            return
        self._state("unverified", phase="a process of it ended")
        if not child.ended.is_set():
            self.board.say(f"{self._killed_because}; the others are ended too", self.index)
            await any_of(child.ended.wait(), self.stopping.wait(), asyncio.sleep(_GRACE_S))

    async def _end(self) -> None:
        """See to it that nothing of this start is left."""
        child, pipe, command = self.child, self._pipe, self._command
        if child and not child.ended.is_set() and self._asked_to_end:
            self._state("stopping")
            child.terminate()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(child.ended.wait(), self.spec.limits.drain)
            if not child.ended.is_set():
                self.board.say(f"did not end within {self.spec.limits.drain:g} s of SIGTERM and is killed", self.index)
        if child:
            await child.kill()
            child.close()
        if pipe:
            pipe.close()
        if command:
            command.clean_up()
        self._liveness = None

    async def _once_more(self) -> bool:
        """Note how it ended, and wait until it is to be started again; False when it is not."""
        if self.restart_asked.is_set():
            self.restart_asked.clear()
            self.board.say("is started again, as asked", self.index)
            self.board.change(self.index, restarts=self.board.replica(self.index).restarts + 1)
            return True
        exit_words = self._killed_because or (self.child.exit_words if self.child else "")
        log = self._pipe.path if self._pipe else ""
        self._state("waiting", pid=None, process=None, phase=f"ended ({exit_words})")
        causes = (self._seen_cause,) if self._seen_cause else await asyncio.to_thread(causes_in, log)
        deaths = (*self.board.replica(self.index).deaths, Death(time.time(), exit_words, log, causes))[-_DEATHS_KEPT:]
        cause = causes[0].message if causes and causes[0].check else "its log shows no cause that is known"
        self.board.change(self.index, deaths=deaths)
        self.board.say(f"ended ({exit_words}): {cause}", self.index)
        following = after_death(self.spec.restart, deaths, now=time.time(), ever_answered=self._answered_once)
        if following.delay_s is None:
            self._state("failed", phase="")
            self.board.say(f"is not started again: {following.reason}", self.index)
            self.settled.set()
            return await self._wait_for_request()
        self.board.change(self.index, phase=f"ended ({exit_words}); starts again in {following.delay_s:g} s")
        await self._pause(following.delay_s)
        self.board.change(self.index, restarts=self.board.replica(self.index).restarts + 1)
        return True

    async def _wait_for_request(self) -> bool:
        """Given up, until somebody asks for it."""
        self._verifier.give_up(self.index)
        await any_of(self.stopping.wait(), self.restart_asked.wait())
        if self.stopping.is_set():
            return False
        self.restart_asked.clear()
        # In one change: who asked waits for the number, and then for a state that lasts.
        self._state("waiting", deaths=(), restarts=self.board.replica(self.index).restarts + 1)
        return True

    async def _pause(self, seconds: float) -> None:
        await any_of(asyncio.sleep(seconds), self.stopping.wait(), self.restart_asked.wait())
        self.restart_asked.clear()

    async def _first_of(self, work: Awaitable[None], limit_s: float | None, lost: asyncio.Event | None = None) -> bool:
        """Do ``work``; True when it came to its end before the server did, was asked to end, or the limit passed."""
        assert self.child is not None
        events = [self.child.ended, self.stopping, self.restart_asked, *([lost] if lost else [])]
        return await before_any(work, events, limit_s)

    def _state(self, state: State, **fields: object) -> None:
        self.board.change(self.index, state=state, **fields)

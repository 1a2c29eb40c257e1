"""The process that starts, verifies, watches and ends the servers of one fleet.

``python -m sm120kit.fleet.supervision.supervisor NAME SPEC LOCK ATTACHED [rehearsal]``, with three inherited
descriptors. The spec comes through a pipe, since it may hold secrets. The lock is held as long as this process lives.
Whoever launched it keeps the other end of ``ATTACHED``: when that closes without a byte before, nobody wants these
servers any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Sequence

import msgspec

from sm120kit.engines.sglang.arguments import secrets_in
from sm120kit.fleet import requests
from sm120kit.fleet.asking import Asking, open_asking
from sm120kit.fleet.digest import digest_of
from sm120kit.fleet.gpus import GpuReader
from sm120kit.fleet.process.child import watch
from sm120kit.fleet.process.family import children
from sm120kit.fleet.process.identity import identify
from sm120kit.fleet.process.mark_text import write_mark
from sm120kit.fleet.process.marks import sweep
from sm120kit.fleet.process.sweeper import Sweeper
from sm120kit.fleet.runtime import make_runtime, remove
from sm120kit.fleet.spec import FleetSpec, ReplicaSpec
from sm120kit.fleet.state import FleetFolder, folder_of
from sm120kit.fleet.supervision.board import Board
from sm120kit.fleet.supervision.command import api_key_of
from sm120kit.fleet.supervision.gather import Gather
from sm120kit.fleet.supervision.judging import Judge
from sm120kit.fleet.supervision.life import Engine, Life
from sm120kit.fleet.supervision.memory_left import memory_left
from sm120kit.fleet.supervision.memory_watch import watch_memory
from sm120kit.fleet.supervision.secrets import Redactor, secret_values
from sm120kit.fleet.supervision.sglang_engine import OpenAsking, SglangEngine, gpu_reader_of
from sm120kit.fleet.supervision.warm import is_warm, mark_warm
from sm120kit.fleet.types import SCHEMA, STOPS, Fleet, Replica
from sm120kit.version import __version__

_PR_SET_CHILD_SUBREAPER = 36
"""linux/prctl.h: what our servers leave without a parent becomes our child, and is found and reaped."""

_TICK_S = 0.5
_MOST_LEADERS = 2
"""Leaders that may fail before the others are not started at all."""


class Supervisor:
    """All of one fleet. Made inside a running event loop."""

    def __init__(self, spec: FleetSpec, folder: FleetFolder, mark: str, asking: OpenAsking) -> None:
        self._spec, self._folder, self._mark = spec, folder, mark
        self._runtime = make_runtime(mark)
        try:
            self._board = Board(folder, _first_state(spec, mark, self._runtime))
        except OSError:
            remove(self._runtime)
            raise
        self._reader: GpuReader | None = gpu_reader_of(spec, folder)
        engine: Engine = SglangEngine(spec, folder, mark, self._runtime, asking)
        judge = Judge(spec, self._board, self._reader)
        self._gather = Gather([each.index for each in spec.replicas], judge.verify)
        arguments = secrets_in(spec.arguments, spec.sglang)
        redactor = Redactor((*arguments.values(), *secret_values({**os.environ, **spec.environment})))
        logs = spec.log_folder or folder.logs
        self._lives = [Life(spec, each, self._board, engine, self._gather, logs, redactor) for each in spec.replicas]
        self._tasks: dict[int, asyncio.Task[None]] = {}
        """The present, or last, life of each replica."""
        self._stop = asyncio.Event()
        self._sweeper = self._new_sweeper()

    async def run(self, attached: int) -> None:
        """Until it is to stop, or whoever launched it is gone."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_reader(attached, self._launcher_speaks, attached)
        beside = [asyncio.ensure_future(self._tick())]
        if self._reader:
            beside.append(asyncio.ensure_future(watch_memory(self._spec, self._board, self._reader)))
        starting = asyncio.ensure_future(self._start_all())
        try:
            await self._stop.wait()
        finally:
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            await self._end_all()
            for each in beside:
                each.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _start_all(self) -> None:
        """One first where the caches are cold, then all others at once."""
        lives = list(self._lives)
        failed = 0
        if len(lives) > 1 and not is_warm(self._spec.warm_key):
            self._board.say("the JIT caches are not known to be warm: one replica fills them before the others start")
            while lives and not await self._lead(lives.pop(0), lives):
                failed += 1
                if failed == _MOST_LEADERS:
                    self._give_up(lives)
                    return
        for life in lives:
            self._begin(life)
        await asyncio.gather(*(life.settled.wait() for life in self._lives))
        if any(self._board.replica(life.index).ready_s is not None for life in self._lives):
            self._warm()

    async def _lead(self, leader: Life, others: Sequence[Life]) -> bool:
        """Start one and wait; whether it answers."""
        for life in others:
            self._board.change(life.index, phase=f"for replica {leader.index}, which fills the JIT caches")
        self._begin(leader)
        await leader.settled.wait()
        answered = self._board.replica(leader.index).ready_s is not None
        if answered:
            self._warm()
        return answered

    def _give_up(self, lives: Sequence[Life]) -> None:
        for life in lives:
            self._gather.give_up(life.index)
            self._board.change(life.index, state="failed", phase="")
        if lives:
            self._board.say(
                f"{_MOST_LEADERS} replicas did not come up, one after the other: the others are not started"
            )

    def _begin(self, life: Life) -> None:
        if not self._runs(life):
            self._tasks[life.index] = asyncio.ensure_future(self._live(life))

    def _runs(self, life: Life) -> bool:
        return life.index in self._tasks and not self._tasks[life.index].done()

    async def _live(self, life: Life) -> None:
        try:
            await life.run()
        except Exception as error:  # a fault of ours in one replica must not end the others
            import traceback

            traceback.print_exc()
            self._board.change(life.index, state="failed", pid=None, process=None, phase="")
            self._board.say(f"sm120kit itself failed over it: {type(error).__name__}: {error}", life.index)

    def _warm(self) -> None:
        try:
            mark_warm(self._spec.warm_key, self._spec.name)
        except OSError as error:
            self._board.say(f"that the JIT caches are warm now cannot be noted: {error.strerror}")

    async def _end_all(self) -> None:
        """All servers at once, then what may have stayed, then the memory."""
        self._board.say(STOPS)
        for life in self._lives:
            self._board.change(life.index, before_end=self._board.replica(life.index).state)
            life.stopping.set()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        left = await asyncio.to_thread(sweep, self._mark)
        remove(self._runtime)
        for process in left:
            self._board.say(
                f"process {process.pid} could not be ended: look at it with ps -o pid,stat,wchan,args {process.pid}"
            )
        gpus = [gpu for each in self._spec.replicas for gpu in each.gpus]
        if self._reader and gpus:
            for text in await asyncio.to_thread(memory_left, gpus, self._reader):
                self._board.say(text)
        for life in self._lives:
            if self._board.replica(life.index).state != "failed":
                self._board.change(life.index, state="stopped", pid=None, process=None, phase="")
        self._board.say("stopped: no process of it is left" if not left else "stopped, not all of it")
        self._board.put(ended=True)
        self._board.flush()
        self._sweeper.dismiss()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            self._reap()
            self._sweeper.replace_if_stopped()
            self._board.keep_written()
            for request in requests.take(self._folder):
                self._restart(request.replicas)

    def _restart(self, indices: Sequence[int]) -> None:
        for life in self._lives:
            if life.index not in indices:
                continue
            if self._runs(life):
                life.restart_asked.set()
            else:  # it was never started, or sm120kit itself failed over it
                number = self._board.replica(life.index).restarts + 1
                self._board.change(life.index, state="waiting", restarts=number)
                self._begin(life)

    def _reap(self) -> None:
        """What was left to us when its parent ended."""
        own = {life.child.pid for life in self._lives if life.child} | {self._sweeper.pid}
        for pid in children(os.getpid()):
            if pid not in own:
                with contextlib.suppress(OSError):
                    os.waitpid(pid, os.WNOHANG)

    def _new_sweeper(self) -> Sweeper:
        sweeper = Sweeper(self._spec.name, self._mark)
        watch(sweeper.pid, self._sweeper_ended)
        return sweeper

    def _sweeper_ended(self) -> None:
        self._sweeper.buried()
        if not self._board.fleet.ended:
            self._sweeper = self._new_sweeper()

    def _launcher_speaks(self, attached: int) -> None:
        said = os.read(attached, 1)
        asyncio.get_running_loop().remove_reader(attached)
        os.close(attached)
        if said == requests.DETACH:
            self._board.put(detached=True)
        else:
            self._stop.set()


def _first_state(spec: FleetSpec, mark: str, runtime: str) -> Fleet:
    now = time.time()
    return Fleet(
        SCHEMA,
        __version__,
        spec.name,
        spec.level,
        verified=False,
        rehearsal=spec.rehearsal is not None,
        granted_total=0,
        replicas=tuple(_first_replica(spec, each, now) for each in spec.replicas),
        id=mark,
        model=spec.model,
        served_model_name=spec.served_model_name,
        sglang=spec.sglang,
        host=spec.host,
        supervisor=identify(os.getpid()),
        runtime=runtime,
        started=now,
        updated=now,
        drain_s=spec.limits.drain,
        spec_digest=digest_of(spec),
        remarks=spec.remarks,
    )


def _first_replica(spec: FleetSpec, replica: ReplicaSpec, now: float) -> Replica:
    return Replica(
        replica.index,
        ",".join(gpu.uuid for gpu in replica.gpus),
        replica.port,
        None,
        "waiting",
        spec.requested,
        replica.expected.granted if replica.expected else None,
        None,
        gpu_index=",".join(str(gpu.index) for gpu in replica.gpus),
        nccl_port=replica.nccl_port,
        since=now,
        memory_before=tuple(gpu.memory_used for gpu in replica.gpus),
        planned_memory=replica.expected.footprint if replica.expected else None,
        roofline=replica.expected.roofline_tokens_per_second if replica.expected else None,
    )


def main(arguments: Sequence[str]) -> None:
    """The program."""
    name, (spec_pipe, lock, attached) = arguments[0], map(int, arguments[1:4])
    for descriptor in (lock, attached):
        os.set_inheritable(descriptor, False)
    if os.fork():  # whoever launched us may go, and need not wait for our end
        os._exit(0)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    with open(spec_pipe, "rb") as stream:  # noqa: PTH123
        raw = stream.read()
    spec = msgspec.json.decode(raw, type=FleetSpec)
    own = identify(os.getpid())
    assert own is not None
    asyncio.run(_run(spec, folder_of(name), write_mark(own), attached))


async def _run(spec: FleetSpec, folder: FleetFolder, mark: str, attached: int) -> None:
    async with contextlib.AsyncExitStack() as stack:
        opened: list[Asking] = []

        async def asking() -> Asking:
            """Opened when the servers load already: what speaks HTTP takes a quarter of a second to import."""
            if not opened:
                opened.append(await stack.enter_async_context(open_asking(api_key_of(spec))))
            return opened[0]

        await Supervisor(spec, folder, mark, asking).run(attached)


if __name__ == "__main__":
    main(sys.argv[1:])

"""The scheduler of a stand-in: a process of its own, as the genuine one has. It loads, holds the simulated memory, and
runs the batch; killed or stopped, it takes the answers with it."""

from __future__ import annotations

import os
import signal
import socket
import time
from typing import Any

from sm120kit.fleet.rehearsal.batch import Batch, Generation
from sm120kit.fleet.rehearsal.channel import HEALTH, Channel
from sm120kit.fleet.rehearsal.loading import LoadError, Loading
from sm120kit.fleet.rehearsal.log import say
from sm120kit.fleet.rehearsal.loop import Loop, Timer
from sm120kit.fleet.rehearsal.profile import Profile

_STREAM_S = 0.05
"""Streamed tokens are told in groups, so that many streams cost little."""

_STEPS_A_LINE = 40
"""Decode steps between two lines about the batch."""

PROCESS_NAME = "rehearsal:sched"
"""In /proc/PID/comm; at most 15 bytes."""


def run(profile: Profile, settings: dict[str, Any], sock: socket.socket, parent: int, begun: float) -> int:
    """All of the scheduler's life; returns its exit code."""
    _die_with(parent)
    loading = Loading(profile, settings, begun)
    try:
        loading.load()
    except LoadError as error:
        say(
            "Scheduler hit an exception: Traceback (most recent call last):\n"
            f'  File "{__file__}", line 1, in load\n{error}\n'
        )
        os.kill(parent, signal.SIGQUIT)
        return 1
    loop = Loop()
    scheduler = Scheduler(profile, loading, loop, sock)
    scheduler.channel.send({"ready": True})
    loop.run()
    return 0


class Scheduler:
    """Takes requests, and tells what became of them."""

    def __init__(self, profile: Profile, loading: Loading, loop: Loop, sock: socket.socket) -> None:
        self.loading, self.loop = loading, loop
        speed = profile.tokens_per_second / (3 if "slow" in profile.faults else 1)
        self.batch = Batch(profile.granted, profile.tokens, speed)
        self.channel = Channel(loop, sock, self._told, loop.stop)
        self.profile = profile
        self.throughput = 0.0
        self._timer: Timer | None = None
        self._line: tuple[float, int] | None = None
        """When the last line about the batch was due, and the tokens made by then."""

    def _told(self, message: dict[str, Any]) -> None:
        kind = message["do"]
        if kind == "generate":
            rid = message["rid"]
            if not (rid.startswith(HEALTH) and (self.batch.running or self.batch.waiting)):
                self.batch.submit(Generation(rid, message["prompt"], message["tokens"], stream=message["stream"]))
        elif kind == "abort":
            self.batch.abort(message["rid"])
        elif kind == "state":
            self.channel.send({"answer": message["id"], **self._state()})
        elif kind == "flush":
            idle = not (self.batch.running or self.batch.waiting)
            if idle:
                self.loading.say("Cache flushed successfully!")
            self.channel.send({"answer": message["id"], "idle": idle})
        elif kind == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif kind == "end":
            self.loop.stop()
            return
        self._turn()

    def _state(self) -> dict[str, Any]:
        now = time.monotonic()
        return {
            "running": len(self.batch.running),
            "waiting": len(self.batch.waiting),
            "used": self.batch.used(now),
            "pending": sum(each.prompt for each in self.batch.waiting),
            "throughput": self.throughput,
        }

    def _turn(self) -> None:
        """Everything that is due."""
        now = time.monotonic()
        done = self.batch.finish(now)
        begun = self.batch.admit(now)
        if begun:
            self._say_prefill(begun)
        progress = self.batch.progress(now)
        alive = self._say_decode(now)
        if done or progress or alive:
            self.channel.send({"done": [each.rid for each in done], "progress": progress})
        self._wait(now)

    def _wait(self, now: float) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        moments = [end for end in (self.batch.next_end(),) if end is not None]
        if any(each.stream for each in self.batch.running.values()):
            moments.append(now + _STREAM_S)
        if self._line:
            moments.append(self._line[0] + _STEPS_A_LINE / self.batch.speed)
        if moments:
            self._timer = self.loop.after(max(0.0, min(moments) - now), self._turn)

    def _say_prefill(self, begun: list[Generation]) -> None:
        own = [each for each in begun if not each.rid.startswith(HEALTH)]
        if not own:
            return
        read = sum(each.prompt for each in own)
        before = len(self.batch.running) - len(begun)
        self.loading.say(
            f"Prefill batch, #new-seq: {len(own)}, #new-token: {read}, #cached-token: 0, token usage: "
            f"{self._usage():.2f}, #running-req: {before}, #queue-req: {len(self.batch.waiting)}, #pending-token: "
            f"{sum(each.prompt for each in self.batch.waiting)}, {self._graph()}: False, "
            f"input throughput (token/s): {read * self.batch.speed:.2f}"
        )

    def _say_decode(self, now: float) -> bool:
        """A line for every so many steps while something runs; says whether there was one."""
        if not self.batch.running:
            self._line = None
            return False
        if self._line is None:
            self._line = (now, self.batch.made(now))
            return False
        due, made = self._line
        if now < due + _STEPS_A_LINE / self.batch.speed:
            return False
        by_now = self.batch.made(now)
        self.throughput = (by_now - made) / (now - due)
        self._line = (now, by_now)
        self.loading.say(
            f"Decode batch, #running-req: {len(self.batch.running)}, #token: {self.batch.used(now)}, token usage: "
            f"{self._usage():.2f}, {self._graph()}: {bool(self.loading.gpus)}, gen throughput (token/s): "
            f"{self.throughput:.2f}, #queue-req: {len(self.batch.waiting)}"
        )
        return True

    def _usage(self) -> float:
        return self.batch.used(time.monotonic()) / max(1, self.profile.tokens)

    def _graph(self) -> str:
        return "cuda graph" if self.loading.gpus or not self.loading.new else "cpu graph"


def _die_with(parent: int) -> None:
    """End, stopped or not, when the process that speaks HTTP ends."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    libc.prctl(15, PROCESS_NAME.encode(), 0, 0, 0)  # PR_SET_NAME
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)

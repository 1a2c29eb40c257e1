"""The process of a stand-in that speaks HTTP: watches its scheduler, warms itself up, answers, drains and dies as
SGLang's does."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import suppress
from typing import Any

from sm120kit.fleet.rehearsal.answers import Answers
from sm120kit.fleet.rehearsal.api import Api, Status
from sm120kit.fleet.rehearsal.arguments import Started
from sm120kit.fleet.rehearsal.channel import Channel
from sm120kit.fleet.rehearsal.connection import Connection, ask
from sm120kit.fleet.rehearsal.in_flight import InFlight
from sm120kit.fleet.rehearsal.log import plain, say
from sm120kit.fleet.rehearsal.loop import Loop
from sm120kit.fleet.rehearsal.profile import Profile

_BACKLOG = 2048
_WARM_UP_TRIES = 120
"""SGLang's own number; between two of them it waits a second, a stand-in for as long as it polls."""

_STARTUP_FAILURE = 3
"""uvicorn's exit code where it cannot begin."""


class MainProcess:
    """One of them, from the moment that its scheduler loads."""

    def __init__(self, profile: Profile, started: Started, scheduler: int, sock: socket.socket, begun: float) -> None:
        self.profile, self.settings, self.key = profile, started.settings, started.key
        self.scheduler, self.begun = scheduler, begun
        self.new = profile.wording == "0.5.23"
        self.loop = Loop()
        self.status = Status()
        self.in_flight = InFlight()
        self.channel = Channel(self.loop, sock, self._told, lambda: None)
        self.in_flight.channel = self.channel
        self.answers = Answers(profile, started.settings, started.words)
        self.api = Api(self.loop, self.answers, self.in_flight, self.status, self.key)
        self.address = (str(self.settings.get("host") or "127.0.0.1"), int(self.settings.get("port") or 30000))
        self.exit_code = 0
        self._loaded = self._ending = self._reaped = False
        self._listener: socket.socket | None = None
        self._tries = 0

    def run(self) -> int:
        """Until its end; returns its exit code, if it does not end by a signal."""
        self._wake_for_signals()
        self.loop.every(self.profile.watchdog_s, self._watch_scheduler)
        self.loop.run()
        return self.exit_code

    def _wake_for_signals(self) -> None:
        """Have a signal end the wait for sockets; what it means is decided in its handler."""
        reading, writing = socket.socketpair()
        reading.setblocking(False)
        writing.setblocking(False)
        signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        self._wakeup = (reading, writing)
        self.loop.watch(reading, lambda: _drop(reading))
        signal.signal(signal.SIGQUIT, lambda *_: self._child_failed())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGQUIT})
        if "refuses-sigterm" in self.profile.faults:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def _told(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._loaded = True
            self._serve()
        else:
            self.in_flight.told(message)

    # From loaded to ready

    def _serve(self) -> None:
        pid = os.getpid()
        if self.new:
            times = self.answers.startup_time()
            graphs = ",".join(f"{name}={took:.2f}" for name, took in times["cuda_graph"].items()).replace(",", ", ")
            say(
                f"Engine startup timings (s): load_weight={times['load_weight']:.2f}, kv_cache_allocation="
                f"{times['kv_cache_allocation']:.2f}, scheduler_e2e={times['scheduler_e2e']:.2f}, cuda_graph="
                f"{{{graphs}}}, tokenizer_e2e={self.profile.load_s:.2f}"
            )
        say(f"INFO:     Started server process [{pid}]")
        say("INFO:     Waiting for application startup.")
        say("INFO:     Application startup complete.")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.loop.after(0, self._terminated))
        listener = socket.socket(socket.AF_INET6 if ":" in self.address[0] else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(self.address)
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            say(
                f"ERROR:    [Errno {error.errno}] error while attempting to bind on address {self.address}: "
                f"{os.strerror(error.errno or 0).lower()}"
            )
            say("INFO:     Waiting for application shutdown.")
            self.loop.after(0, self._warm_up)
            return
        listener.setblocking(False)
        self._listener = listener
        self.loop.watch(listener, self._accept)
        host = f"[{self.address[0]}]" if ":" in self.address[0] else self.address[0]
        say(f"INFO:     Uvicorn running on http://{host}:{self.address[1]} (Press CTRL+C to quit)")
        self.loop.after(0, self._warm_up)

    def _accept(self) -> None:
        assert self._listener is not None
        while True:
            try:
                client, peer = self._listener.accept()
            except OSError:
                return
            Connection(self.loop, client, f"{peer[0]}:{peer[1]}", self.api.handle)

    def _warm_up(self) -> None:
        """As SGLang does it: over HTTP, without a thought of who answers there."""
        if self.settings.get("skip_server_warmup"):
            self._ready()
            return
        self._tries += 1
        ask(self.loop, self.address, "GET", "/model_info", b"", self._model_told, headers=self._authorization())

    def _model_told(self, status: int, _body: bytes) -> None:
        if status == 200:
            body = b'{"text":"The capital city of France is","sampling_params":{"temperature":0,"max_new_tokens":8}}'
            ask(
                self.loop, self.address, "POST", "/generate", body, self._generated,
                headers=self._authorization(), limit_s=600,
            )  # fmt: skip
        elif self._tries < _WARM_UP_TRIES:
            self.loop.after(self.profile.watchdog_s, self._warm_up)
        else:
            self._warm_up_failed(f"GET /model_info: {status or 'no answer'}")

    def _generated(self, status: int, _body: bytes) -> None:
        if status != 200:
            self._warm_up_failed(f"POST /generate: {status or 'no answer'}")
            return
        left = self.begun + self.profile.load_s - time.monotonic()
        self.loop.after(max(0.0, left), self._ready)

    def _warm_up_failed(self, why: str) -> None:
        say(f"Initialization failed. warmup error: Traceback (most recent call last):\nAssertionError: {why}\n")
        self._kill_tree()

    def _authorization(self) -> str:
        return f"authorization: Bearer {self.key}\r\n" if self.key else ""

    def _ready(self) -> None:
        self.status.starting = False
        say("The server is fired up and ready to roll!")
        if self._listener is None:
            say("INFO:     Application shutdown complete.")
            self._end_unbound()
            return
        faults = self.profile.faults
        if "hang" in faults:
            self.in_flight.tell("stop")
        if "hangs-later" in faults:
            self.loop.after(self.profile.later_s, lambda: self.in_flight.tell("stop"))
        if "dies-later" in faults:
            self.loop.after(self.profile.later_s, self._kill_scheduler)

    def _end_unbound(self) -> None:
        if self.new:
            self._say_kill(include_parent=False)
            self._kill_tree()
        self.exit_code = _STARTUP_FAILURE
        self._end_scheduler()
        self.loop.stop()

    # The scheduler's death

    def _watch_scheduler(self) -> None:
        if self._ending:
            return
        pid, wait_status = os.waitpid(self.scheduler, os.WNOHANG)
        if not pid:
            return
        self._ending = self._reaped = True
        code = os.waitstatus_to_exitcode(wait_status)
        if not self._loaded:
            plain(
                f"RuntimeError: Rank 0 scheduler died during initialization (exit code: {code}). If exit code is -9 "
                "(SIGKILL), a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check.\n"
            )
            self.exit_code = 1
            self.loop.stop()
            return
        say(f"Subprocess scheduler_0 (pid={pid}) crashed with exit code {code}. Triggering SIGQUIT for cleanup...")
        say("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
        if self.new:
            say("Sleeping 5 seconds before crash diagnostics to let GPU activity settle.")
        self.loop.after(self.profile.watchdog_s, self._kill_tree)

    def _child_failed(self) -> None:
        """SIGQUIT, which a scheduler sends before it ends."""
        if self._loaded:
            say("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
        else:
            say("Received sigquit from a child process. It usually means the child failed.")
        if self.new:
            self._say_kill(include_parent=True)
        self._kill_tree()

    # SIGTERM

    def _terminated(self) -> None:
        if not self.status.draining:
            say("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
            self.status.draining = True
            self._drain()

    def _drain(self) -> None:
        rids = self.in_flight.rids()
        if self.status.unhealthy:
            say("Signal SIGTERM received while health check failed. Force exiting.")
        elif os.environ.get("SGL_FORCE_SHUTDOWN", "0").lower() in ("1", "true"):
            say("Signal SIGTERM received while force shutdown flag set. Force exiting.")
        else:
            refuses = "refuses-sigterm" in self.profile.faults
            rids += ["refuses-sigterm"] if refuses else []
            say(
                f"Gracefully exiting... Remaining number of requests {len(rids)}. Remaining requests "
                f"remaining_rids={rids}."
            )
            if rids:
                self.loop.after(self.profile.watchdog_s, self._drain)
                return
        self._exit_drained()

    def _exit_drained(self) -> None:
        self._ending = True
        if not self.new:
            self._kill_tree()
        self._say_kill(include_parent=False)
        self._end_scheduler()
        if self._listener:
            self._listener.close()
        for step in ("Shutting down", "Waiting for application shutdown.", "Application shutdown complete."):
            say(f"INFO:     {step}")
        say(f"INFO:     Finished server process [{os.getpid()}]")
        self._say_kill(include_parent=False)
        self.loop.stop()

    # Ends

    def _say_kill(self, *, include_parent: bool) -> None:
        pid = os.getpid()
        say(f"kill_process_tree called: parent_pid={pid}, include_parent={include_parent}, pid={pid}")

    def _end_scheduler(self) -> None:
        self._kill_scheduler()
        if not self._reaped:
            with suppress(ChildProcessError):
                os.waitpid(self.scheduler, 0)
            self._reaped = True

    def _kill_scheduler(self) -> None:
        """Not once its end was seen: its number may be another process's by then."""
        if not self._reaped:
            with suppress(ProcessLookupError):
                os.kill(self.scheduler, signal.SIGKILL)

    def _kill_tree(self) -> None:
        """End the scheduler and itself, by SIGKILL as SGLang does: no exit code tells of it."""
        self._end_scheduler()
        os.kill(os.getpid(), signal.SIGKILL)


def _drop(sock: socket.socket) -> None:
    sock.recv(4096)

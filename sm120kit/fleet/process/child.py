"""One server process: started, seen to end, ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from sm120kit.fleet.process import exec_child
from sm120kit.fleet.process.family import family
from sm120kit.fleet.process.identity import identify
from sm120kit.fleet.process.marks import in_session, kill
from sm120kit.fleet.types import ProcessId


class Child:
    """A process in a session of its own that dies when we do. Made inside a running event loop."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], output: int, folder: str) -> None:
        wrapped = [sys.executable, "-I", "-S", exec_child.__file__, str(os.getpid()), *command]
        self._process = subprocess.Popen(
            wrapped,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self.process = identify(self.pid) or ProcessId(self.pid, 0, "")
        self.ended = asyncio.Event()
        try:
            self._watch = watch(self.pid, self._seen_to_end)
        except OSError:  # no open file left: nobody would see to its end
            self._process.kill()
            self._process.wait()
            raise

    def _seen_to_end(self) -> None:
        self._process.poll()
        self.ended.set()

    @property
    def exit_words(self) -> str:
        """How it ended, in words; empty while it runs."""
        code = self._process.poll()
        if code is None:
            return ""
        return f"signal {_signal_name(-code)}" if code < 0 else f"exit code {code}"

    def family(self) -> tuple[ProcessId, ...]:
        """It, what it started, and what stayed in its session; nothing once its number is another process's."""
        if self._is_anothers():
            return ()
        return tuple(dict.fromkeys((*family(self.process), *in_session(self.pid))))

    def terminate(self) -> None:
        """Ask it to end."""
        with contextlib.suppress(OSError):
            self._process.send_signal(signal.SIGTERM)

    async def kill(self) -> None:
        """End it and all that belongs to it, however it stands."""
        members = self.family()
        if not self._is_anothers():  # no process gets the number of a group or session that has members
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        for member in members:
            kill(member)
        await self.ended.wait()
        for member in (*members, *self.family()):
            kill(member)

    def _is_anothers(self) -> bool:
        now = identify(self.pid)
        return now is not None and now != self.process

    def close(self) -> None:
        """Watch it no longer."""
        self._watch.close()


class Watch:
    """Calls once when a process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def close(self) -> None:
        """Call no more."""
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1


def watch(pid: int, on_end: Callable[[], None]) -> Watch:
    """Call ``on_end`` when that process has ended, at once where it has already."""
    loop = asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        loop.call_soon(on_end)
        return Watch(-1)
    watching = Watch(descriptor)

    def ended() -> None:
        watching.close()
        on_end()

    loop.add_reader(descriptor, ended)
    return watching


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)

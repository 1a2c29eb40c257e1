"""SGLang's servers, and their stand-ins, as a replica's life needs to know them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from sm120kit.engines.sglang.phases import is_progress, is_ready, phase_of
from sm120kit.engines.sglang.processes import WORKERS
from sm120kit.fleet.asking import Asking
from sm120kit.fleet.gpus import GpuReader, NvmlReader
from sm120kit.fleet.process.child import Child
from sm120kit.fleet.process.identity import alive
from sm120kit.fleet.process.marks import KEEP_ENVIRONMENT
from sm120kit.fleet.rehearsal.gpus import SimulatedGpus
from sm120kit.fleet.rehearsal.profile import profile_of
from sm120kit.fleet.rehearsal.scheduler import PROCESS_NAME as STAND_IN_WORKER
from sm120kit.fleet.runtime import make_part, remove
from sm120kit.fleet.spec import FleetSpec, ReplicaSpec
from sm120kit.fleet.state import FleetFolder
from sm120kit.fleet.supervision.command import command_of
from sm120kit.fleet.supervision.life import Command, PortTaken
from sm120kit.fleet.types import ProcessId
from sm120kit.fleet.urls import address_of
from sm120kit.fleet.verification.port_owner import judge_port_owner, listening

_HEALTH_LIMIT_S = 25.0
"""SGLang itself gives up after 20."""

_REFUSED_PAUSE_S = 0.25
_ROUND_TRIP = "/server_info"
"""Answered by the scheduler; the HTTP process alone cannot."""


OpenAsking = Callable[[], Awaitable[Asking]]
"""Gives the connections to all servers; the first call opens them."""


class SglangEngine:
    """One for a fleet."""

    def __init__(self, spec: FleetSpec, folder: FleetFolder, mark: str, runtime: str, asking: OpenAsking) -> None:
        self._spec, self._folder, self._mark, self._runtime, self._asking = spec, folder, mark, runtime, asking
        self._starts = 0

    def command(self, replica: ReplicaSpec) -> Command:
        """How this replica is started, with a folder of its own for the sockets and files that it makes."""
        self._starts += 1
        own = make_part(self._runtime, f"{replica.index}-{self._starts}")
        if self._spec.rehearsal:
            profile_of(self._spec, replica, Path(self._folder.rehearsal), Path(own, "profile.json"))
        made = command_of(self._spec, replica, folder=own, base_environment=os.environ, mark=self._mark)
        secret = made.secret_file
        if secret:
            _write_private(secret.path, secret.text)
        environment = {**made.environment, **KEEP_ENVIRONMENT}
        return Command(
            made.argv,
            environment,
            own,
            once_it_answers=lambda: Path(secret.path).unlink(missing_ok=True) if secret else None,
            clean_up=lambda: remove(own),
        )

    def phase(self, line: str) -> str:
        """What it is at, by a line of its log."""
        return phase_of(line)

    def is_ready(self, line: str) -> bool:
        """Whether SGLang says that it is up."""
        return is_ready(line)

    def is_progress(self, line: str) -> bool:
        """Whether its scheduler has run a batch."""
        return is_progress(line)

    def workers(self, child: Child) -> dict[int, str]:
        """Its schedulers and its detokenizer."""
        names = (STAND_IN_WORKER,) if self._spec.rehearsal else WORKERS
        found = {each.pid: _name(each.pid) for each in child.family() if each.pid != child.pid}
        return {pid: name for pid, name in found.items() if name.startswith(names)}

    async def answers(self, replica: ReplicaSpec, root: ProcessId) -> bool:
        """Whether /health says so. While it loads nobody listens, which is known at once."""
        await asyncio.sleep(_REFUSED_PAUSE_S)
        url = self._url(replica)
        asking = await self._asking()
        reply = await asking.get(url, "/health", limit_s=_HEALTH_LIMIT_S)
        if reply.status is not None or reply.timed_out:
            owner = judge_port_owner(url, root, listening((replica.port,)), replica.port)
            if owner.passed is False and alive(root):
                raise PortTaken(owner.evidence)
        return reply.status == 200

    def asker(self, replica: ReplicaSpec) -> Callable[[float], Awaitable[bool]]:
        """Asks what only the scheduler can answer."""

        async def ask(limit_s: float) -> bool:
            asking = await self._asking()
            reply = await asking.get(self._url(replica), _ROUND_TRIP, limit_s=limit_s)
            return reply.status == 200

        return ask

    def _url(self, replica: ReplicaSpec) -> str:
        return address_of(self._spec.host, replica.port)


def gpu_reader_of(spec: FleetSpec, folder: FleetFolder) -> GpuReader | None:
    """What tells the memory of the fleet's GPUs; ``None`` where it has none."""
    if not any(each.gpus for each in spec.replicas):
        return None
    return SimulatedGpus(Path(folder.rehearsal, "gpus")) if spec.rehearsal else NvmlReader()


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _write_private(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)

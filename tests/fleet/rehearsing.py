"""Fleets of stand-ins for tests: launched as any fleet, on free ports, ended whatever happens."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sm120kit.fleet.process.identity import alive
from sm120kit.fleet.process.marks import marked, sweep
from sm120kit.fleet.rehearsal.allocations import by_gpu
from sm120kit.fleet.rehearsal.gpus import simulated_gpus
from sm120kit.fleet.spec import Expectation, FleetSpec, Limits, Rehearsal, ReplicaSpec, RestartPolicy
from sm120kit.fleet.state import FleetFolder, folder_of, load_fleet
from sm120kit.fleet.supervising import Attached, start
from sm120kit.fleet.types import Fleet, Level, Replica

LIMIT_S = 60.0
"""What any of it may take on a busy machine before a test gives up."""

QUICK = Limits(start=30, answer=20, verify=60, hang=3, drain=2)
SOON = RestartPolicy(first_delay=0.1)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on now, below the range that the kernel gives away."""
    found: list[int] = []
    first = 20_000 + (os.getpid() * 37) % 9_000
    for port in range(first, first + 3_000):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise AssertionError("no free ports")


def spec_of(
    count: int,
    *,
    name: str = "test",
    faults: Sequence[str] = (),
    load_s: float = 0.2,
    level: Level = "quick",
    limits: Limits = QUICK,
    restart: RestartPolicy = SOON,
    parser: str = "",
    warm_key: str = "",
) -> FleetSpec:
    """A launch of so many stand-ins, each with a simulated GPU."""
    ports = free_ports(2 * count)
    gpus = simulated_gpus(f"rtx-pro-6000x{count}")
    expected = Expectation(granted=37, tokens=251_509, footprint=80 << 30)
    return FleetSpec(
        name,
        "/models/rehearsed",
        tuple(ReplicaSpec(i, ports[i], ports[count + i], (gpus[i],), expected) for i in range(count)),
        "0.5.23",
        sys.executable,
        ("--max-running-requests", "64", *(("--reasoning-parser", parser) if parser else ())),
        level=level,
        reasoning_parser=parser,
        requested=64,
        limits=limits,
        restart=restart,
        warm_key=warm_key,
        rehearsal=Rehearsal(load_s, tuple(faults)),
    )


class Rehearsed:
    """A fleet that runs."""

    def __init__(self, spec: FleetSpec, attached: Attached) -> None:
        self.spec, self.attached = spec, attached

    @property
    def folder(self) -> FleetFolder:
        """Where its state is."""
        return folder_of(self.spec.name)

    def state(self) -> Fleet:
        """As it was written last."""
        fleet = load_fleet(self.folder)
        assert fleet is not None
        return fleet

    def replica(self, index: int) -> Replica:
        """One of it."""
        return self.state().replicas[index]

    def until(self, seen: Callable[[Fleet], bool], limit_s: float = LIMIT_S) -> Fleet:
        """Wait until its state is such."""
        limit = time.monotonic() + limit_s
        while not seen(fleet := self.state()):
            assert time.monotonic() < limit, story(fleet)
            time.sleep(0.02)
        return fleet

    def settled(self) -> Fleet:
        """Wait until nothing more happens by itself."""
        done = ("verified", "unverified", "failed")
        return self.until(lambda fleet: all(each.state in done for each in fleet.replicas))

    def stop(self) -> Fleet:
        """End it."""
        fleet = self.attached.stop(self.spec.limits.drain)
        self.assert_gone(fleet)
        return fleet

    def assert_gone(self, fleet: Fleet, *, leaked: bool = False) -> None:
        """No process, no port and no memory is left, and the state says so."""
        assert fleet.ended, story(fleet)
        assert load_fleet(self.folder) == fleet
        assert not fleet.verified
        assert fleet.granted_total == 0
        assert {each.state for each in fleet.replicas} <= {"stopped", "failed"}
        assert {each.pid for each in fleet.replicas} == {None}
        assert marked(fleet.id) == ()
        assert fleet.runtime
        assert not Path(fleet.runtime).exists()
        assert fleet.supervisor is not None
        assert not alive(fleet.supervisor)
        for each in self.spec.replicas:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", each.port))
        simulated = Path(self.folder.rehearsal, "gpus")
        if simulated.exists() and not leaked:
            assert sum(by_gpu(str(simulated)).values()) == 0


def story(fleet: Fleet) -> str:
    """What happened, for the reader of a failed test."""
    lines = [f"{each.index}: {each.state} {each.phase} {each.log}" for each in fleet.replicas]
    lines += [f"{event.at - fleet.started:6.2f} {event.replica} {event.text}" for event in fleet.events]
    return "\n".join(lines)


@contextmanager
def rehearsed(spec: FleetSpec) -> Iterator[Rehearsed]:
    """Launch it; ended afterwards, whatever happened."""
    attached = start(spec)
    fleet = Rehearsed(spec, attached)
    mark = fleet.state().id
    try:
        yield fleet
    finally:
        attached.stop(spec.limits.drain)
        assert sweep(mark) == ()

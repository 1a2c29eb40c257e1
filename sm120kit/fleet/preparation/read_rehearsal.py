"""What stands for a target in a rehearsal: simulated GPUs, and a snapshot in which nothing is known."""

from __future__ import annotations

import sys

from msgspec.structs import replace

from sm120kit.diagnosis.case import NamedGpu
from sm120kit.diagnosis.hardware import parse_gpus
from sm120kit.diagnosis.versions import version_key
from sm120kit.engines.sglang.flags import versions
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.order import Order
from sm120kit.fleet.preparation.target_read import TargetRead
from sm120kit.fleet.preparation.unread import unread_snapshot
from sm120kit.fleet.rehearsal.faults import parse_fault
from sm120kit.fleet.rehearsal.gpus import simulated_gpus
from sm120kit.fleet.spec import FleetSpec, Gpu


def read_rehearsal(order: Order) -> TargetRead:
    """GPUs and version as they are asked for.

    Raises:
        Sm120kitError: there is no such GPU, or no such version; exit code 2.
    """
    if order.rehearsal.sglang and version_key(order.rehearsal.sglang) is None:
        raise Sm120kitError(f"--sglang {order.rehearsal.sglang} is no version", hint=f"Write it as {versions()[-1]}")
    named = order.rehearsal.sglang.removeprefix("v")
    return TargetRead(
        snapshot=unread_snapshot(),
        python=sys.executable,
        version=named or versions()[-1],
        version_source=f"--sglang {named}" if named else "the newest version known here",
        gpus=simulated_gpus(order.rehearsal.gpu),
        environment=dict(order.environment),
    )


def refuse_faults_of_nobody(spec: FleetSpec) -> None:
    """Refuse faults that no server could have.

    Raises:
        Sm120kitError: there is no such fault or server; exit code 2.
    """
    for text in spec.rehearsal.faults if spec.rehearsal else ():
        fault = parse_fault(text)
        if fault.replica is not None and fault.replica >= len(spec.replicas):
            raise Sm120kitError(
                f"--fault {text}: there is no server {fault.replica}",
                hint=f"They are counted from 0 to {len(spec.replicas) - 1}",
            )


def hardware_used(order: Order, gpus: tuple[Gpu, ...]) -> tuple[NamedGpu, ...]:
    """Of the hardware of a rehearsal as much as servers are started on, as checks want it named."""
    used: list[NamedGpu] = []
    first = 0
    for named in parse_gpus(order.rehearsal.gpu):
        number = sum(first <= gpu.index < first + named.count for gpu in gpus)
        first += named.count
        if number:
            used.append(replace(named, count=number))
    return tuple(used)

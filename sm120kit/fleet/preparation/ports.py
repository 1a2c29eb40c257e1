"""The ports of all servers of a fleet, none of them twice. Pure."""

from __future__ import annotations

from typing import NamedTuple

from sm120kit.diagnosis.launch import LaunchLine
from sm120kit.engines.sglang.ports import HIGHEST, highest_port, ports_beside
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.order import Order

_STEP_WITH_MORE = 10
"""Distance of two servers that take more ports than their own: theirs would fall on each other with a step of one."""


class Ports(NamedTuple):
    """The ports of one server."""

    http: int
    nccl: int
    beside: tuple[int, ...] = ()
    """What it takes of its own accord."""

    @property
    def all(self) -> tuple[int, ...]:
        """Every one of them."""
        return (self.http, self.nccl, *self.beside)


def ports_of(order: Order, count: int, line: LaunchLine, *, grpc: bool = False) -> tuple[Ports, ...]:
    """The ports of ``count`` servers.

    Raises:
        Sm120kitError: there is no such port, or two servers would take the same one; exit code 2.
    """
    offsets = ports_beside(line, grpc=grpc)
    step = _STEP_WITH_MORE if len(offsets) > 1 else 1
    ports = tuple(
        Ports(http, order.base_nccl_port + number, tuple(http + offset for offset in offsets))
        for number, http in ((number, order.base_port + number * step) for number in range(count))
    )
    _refuse_too_high(ports, line.version)
    _refuse_twice(ports)
    return ports


def _refuse_too_high(ports: tuple[Ports, ...], version: str) -> None:
    most, source = highest_port(version)
    http = max((each.http for each in ports), default=0)
    if http > most:
        because = f", since SGLang {version} also needs a port {HIGHEST - most} higher ({source})" if source else ""
        raise Sm120kitError(
            f"--base-port {ports[0].http} puts the last of {len(ports)} servers on port {http}, and the highest that "
            f"works is {most}{because}",
            hint=f"Take --base-port {most - (http - ports[0].http)} or less",
        )
    if max((max(each.all) for each in ports), default=0) > HIGHEST:
        raise Sm120kitError(
            f"the ports of {len(ports)} servers reach past {HIGHEST}",
            hint="Take a lower --base-port or --base-nccl-port",
        )


def _refuse_twice(ports: tuple[Ports, ...]) -> None:
    owner: dict[int, int] = {}
    for number, each in enumerate(ports):
        for port in each.all:
            if port in owner:
                who = (
                    f"servers {owner[port]} and {number}"
                    if owner[port] != number
                    else f"server {number}, for two things,"
                )
                raise Sm120kitError(
                    f"{who} would take port {port}: HTTP begins at {ports[0].http}, the others at {ports[0].nccl}",
                    hint="Move --base-port and --base-nccl-port further apart",
                )
            owner[port] = number

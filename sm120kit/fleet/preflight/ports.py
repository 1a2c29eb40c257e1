"""Whether every port can be opened now, on the address that the servers get."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sm120kit.diagnosis.findings import at
from sm120kit.diagnosis.types import Finding, Manual
from sm120kit.engines.sglang.ports import ports_beside
from sm120kit.fleet.preflight.findings import stops
from sm120kit.fleet.preflight.types import Answer
from sm120kit.fleet.preparation.prepare import Prepared
from sm120kit.fleet.verification.port_owner import Holder, listening
from sm120kit.fleet.whose import fleet_of

_CHECK = "launch.port-taken"
_LOCAL = "127.0.0.1"
_SHOWN = 3
"""Ports whose owners are named."""


class _Wanted(NamedTuple):
    server: int
    port: int
    purpose: str
    host: str


def ask_ports(prepared: Prepared, _environment: Mapping[str, str]) -> Answer:
    """Each port of each server."""
    wanted = tuple(_wanted(prepared))
    refused = [(each, reason) for each in wanted if (reason := _refused(each))]
    names = sorted({each.port for each in wanted})
    text = f"ports {_ranges(names)} on {prepared.spec.host}"
    return Answer("ports", text, tuple(_findings(refused)))


def _wanted(prepared: Prepared) -> Iterator[_Wanted]:
    spec, line = prepared.spec, prepared.case.request.launch
    grpc = spec.environment.get("SGLANG_ENABLE_GRPC", "").lower() in ("1", "true", "yes", "y")
    beside = ports_beside(line, grpc=grpc) if line else ()
    for replica in spec.replicas:
        yield _Wanted(replica.index, replica.port, "HTTP", spec.host)
        yield _Wanted(replica.index, replica.nccl_port, "torch.distributed", _LOCAL)
        for offset in beside:
            yield _Wanted(replica.index, replica.port + offset, "its own processes", _LOCAL)


def _refused(wanted: _Wanted) -> OSError | None:
    """Why the port cannot be opened; ``None`` where it can."""
    try:
        found = socket.getaddrinfo(wanted.host, wanted.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found[:1]:
            with socket.socket(family, kind, protocol) as opened:
                # As servers do: what an ended connection still holds is free to them.
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                opened.bind(address)
                opened.listen(1)
    except (OSError, UnicodeError) as error:
        return error if isinstance(error, OSError) else OSError(errno.EINVAL, str(error))
    return None


def _findings(refused: Iterable[tuple[_Wanted, OSError]]) -> Iterator[Finding]:
    """One for all ports of a purpose that are refused for the same reason: eight servers make one sentence."""
    alike: dict[tuple[int, str], list[tuple[_Wanted, OSError]]] = {}
    for wanted, error in refused:
        alike.setdefault((error.errno or 0, wanted.purpose), []).append((wanted, error))
    for group in alike.values():
        yield _finding([wanted for wanted, _ in group], group[0][1])


def _finding(wanted: Sequence[_Wanted], error: OSError) -> Finding:
    ports, servers = sorted({each.port for each in wanted}), sorted({each.server for each in wanted})
    host, several = wanted[0].host, len(ports) > 1
    name = f"port{'s' if several else ''} {_ranges(ports)} ({wanted[0].purpose} of "
    name += f"server{'s' if len(servers) > 1 else ''} {_ranges(servers)})"
    evidence = [at(error.strerror or str(error), f"bind {host} {ports[0]}")]
    if error.errno == errno.EADDRINUSE:
        message = f"{name} {'are' if several else 'is'} taken"
        owners = [owner for port in ports[:_SHOWN] for owner in _owners(port)]
        evidence += [at(each.text, "/proc") for each in owners]
        fleets = dict.fromkeys(each.fleet for each in owners if each.fleet)
        remedies = [Manual(f"Stop the fleet {name} that has it", (f"sm120kit stop {name}",)) for name in fleets]
        remedies += [
            Manual(f"End the process that owns port {ports[0]}", (f"ss -ltnp 'sport = :{ports[0]}'",)),
            Manual("Move the fleet: --base-port for HTTP, --base-nccl-port for torch.distributed"),
        ]
    elif error.errno in (errno.EACCES, errno.EPERM):
        message = f"{name} may not be opened by this user"
        remedies = [Manual("Take ports above 1023 with --base-port")]
    elif error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        message = f"{host} is no address of this machine, so no server can listen there"
        remedies = [Manual("Listen on 127.0.0.1, on 0.0.0.0, or on an address that this machine has: --host")]
    else:
        message = f"{name} cannot be opened: {error.strerror or error}"
        remedies = [Manual("Take other ports with --base-port")]
    return stops(_CHECK, f"{host}:{_ranges(ports)}", message, evidence, remedies)


class _Owner(NamedTuple):
    text: str
    fleet: str = ""


def _owners(port: int) -> list[_Owner]:
    """Who listens there. A command line may hold secrets, so a process is named by its name alone."""
    try:
        holders = listening((port,))
    except OSError:
        return []
    return [_owner(holder) for holder in holders]


def _owner(holder: Holder) -> _Owner:
    import psutil

    where = f"{holder.address}:{holder.port} belongs to"
    if holder.pid is None:
        return _Owner(f"{where} a process of another user")
    try:
        name = psutil.Process(holder.pid).name()
    except psutil.Error:
        return _Owner(f"{where} process {holder.pid}, which has ended since")
    fleet = fleet_of(holder.pid)
    of_it = f" of fleet {fleet}" if fleet else ""
    return _Owner(f"{where} process {holder.pid} ({name}){of_it}", fleet)


def _ranges(ports: Iterable[int]) -> str:
    """``29500-29507, 30000-30007``"""
    runs: list[list[int]] = []
    for port in ports:
        if runs and port == runs[-1][-1] + 1:
            runs[-1].append(port)
        else:
            runs.append([port])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)

"""Whether every port can be opened now, on the address that the servers get."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from sm120kit.diagnosis.findings import at
from sm120kit.diagnosis.types import Evidence, Finding, Manual
from sm120kit.engines.sglang.ports import ports_beside
from sm120kit.fleet.preflight.findings import stops
from sm120kit.fleet.preflight.types import Answer
from sm120kit.fleet.preparation.prepare import Prepared
from sm120kit.fleet.verification.port_owner import listening

_CHECK = "launch.port-taken"
_LOCAL = "127.0.0.1"


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
    return Answer("ports", text, tuple(_finding(each, reason) for each, reason in refused))


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


def _finding(wanted: _Wanted, error: OSError) -> Finding:
    name = f"port {wanted.port} ({wanted.purpose} of server {wanted.server})"
    evidence = [at(error.strerror or str(error), f"bind {wanted.host} {wanted.port}")]
    if error.errno == errno.EADDRINUSE:
        message = f"{name} is taken"
        evidence += _owners(wanted.port)
        remedies = [
            Manual(f"End the process that owns port {wanted.port}", (f"ss -ltnp 'sport = :{wanted.port}'",)),
            Manual("Or move the fleet: --base-port for HTTP, --base-nccl-port for torch.distributed"),
        ]
    elif error.errno in (errno.EACCES, errno.EPERM):
        message = f"{name} may not be opened by this user"
        remedies = [Manual("Take ports above 1023 with --base-port")]
    elif error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        message = f"{wanted.host} is no address of this machine, so no server can listen there"
        remedies = [Manual("Listen on 127.0.0.1, on 0.0.0.0, or on an address that this machine has: --host")]
    else:
        message = f"{name} cannot be opened: {error.strerror or error}"
        remedies = [Manual("Take other ports with --base-port")]
    return stops(_CHECK, f"{wanted.host}:{wanted.port}", message, evidence, remedies)


def _owners(port: int) -> list[Evidence]:
    """Who listens there. A command line may hold secrets, so a process is named by its name alone."""
    try:
        holders = listening((port,))
    except OSError:
        return []
    return [
        at(
            f"{holder.address} belongs to " + (_name(holder.pid) if holder.pid else "a process of another user"),
            "/proc",
        )
        for holder in holders
    ]


def _name(pid: int) -> str:
    import psutil

    try:
        return f"process {pid} ({psutil.Process(pid).name()})"
    except psutil.Error:
        return f"process {pid}, which has ended since"


def _ranges(ports: Iterable[int]) -> str:
    """``29500-29507, 30000-30007``"""
    runs: list[list[int]] = []
    for port in ports:
        if runs and port == runs[-1][-1] + 1:
            runs[-1].append(port)
        else:
            runs.append([port])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)

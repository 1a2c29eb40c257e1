"""port-owner: the socket that a server's address leads to belongs to the very process that was started for it.

SGLang binds its port after it has loaded. Where another process took it meanwhile, the server's own warm-up talks to
that one and reports that all is well: neither its log nor an HTTP 200 tells whose answers these are.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

from sm120kit.engines.sglang.client import split_address
from sm120kit.fleet.process.family import family
from sm120kit.fleet.types import ProcessId, Struct, Verdict
from sm120kit.redaction import redacted
from sm120kit.text import visible

_SHOWN = 200
"""Characters of a command that are shown."""


class Holder(Struct, frozen=True):
    """One process that holds a listening socket."""

    address: str
    port: int
    pid: int | None
    """``None``: the process belongs to somebody else, and may not be looked at."""
    inode: str = ""
    """What tells one socket from another; a socket can be held by several processes."""


def listening(ports: Iterable[int]) -> tuple[Holder, ...]:
    """Who listens on these TCP ports of this machine: one holder of every socket."""
    import psutil

    wanted = set(ports)
    return tuple(
        Holder(each.laddr.ip, each.laddr.port, each.pid, _inode(each.pid, each.fd))
        for each in psutil.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN and each.laddr and each.laddr.port in wanted
    )


def port_of(url: str, port: int = 0) -> int:
    """``port``, else that of an address."""
    parts = split_address(url)
    return port or parts.port or (443 if parts.scheme == "https" else 80)


def judge_port_owner(url: str, root: ProcessId, holders: Sequence[Holder], port: int = 0) -> Verdict:
    """Whether every socket that a connection to ``url`` can reach is held by ``root`` or what it started."""
    parts, port = split_address(url), port_of(url, port)
    ours = {each.pid for each in family(root)}
    at_port = [each for each in holders if each.port == port]
    reached = _reached(parts.hostname or "", at_port)
    if not ours:
        now = f"; {_shown(reached[0])} is held by {_who(reached[0].pid)}" if reached else ""
        return _verdict(False, f"the server's process {root.pid} has ended{now}")
    if not reached:
        elsewhere = "".join(f"; process {each.pid} listens on {_shown(each)}" for each in at_port[:1])
        return _verdict(False, f"nobody listens on {parts.hostname}:{port}{elsewhere}")
    strangers = [each for each in reached if each.pid not in ours and not _held_by(ours, each)]
    if strangers:
        return _verdict(False, f"{_shown(strangers[0])} is held by {_who(strangers[0].pid)}, "
                               f"not by process {root.pid} or what it started")  # fmt: skip
    holder = next((each for each in reached if each.pid in ours), reached[0])
    if holder.pid == root.pid or holder.pid not in ours:
        return _verdict(True, f"{_shown(holder)} is held by process {root.pid}, which was started for it")
    return _verdict(True, f"{_shown(holder)} is held by process {holder.pid}, which process {root.pid} started")


def _verdict(passed: bool, evidence: str) -> Verdict:
    return Verdict("port-owner", passed, evidence)


def _reached(host: str, holders: Sequence[Holder]) -> list[Holder]:
    """Those to whom the kernel gives a connection to ``host``: bound to that very address, else to every address of
    its family, else an IPv6 socket bound to all, which takes IPv4 as well unless it was told not to."""
    try:
        asked = _v4(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        return [
            each for each in holders if host != "localhost" or _bound(each).is_loopback or _bound(each).is_unspecified
        ]
    if asked.is_unspecified:
        return list(holders)
    exact = [each for each in holders if _bound(each) == asked]
    family = [each for each in holders if _bound(each).is_unspecified and _bound(each).version == asked.version]
    return exact or family or [each for each in holders if _bound(each).is_unspecified]


def _bound(holder: Holder) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return _v4(ipaddress.ip_address(holder.address.partition("%")[0]))


def _v4(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _held_by(pids: Iterable[int], holder: Holder) -> bool:
    """Whether one of these processes holds that socket too."""
    if not holder.inode:
        return False
    return any(holder.inode in _open_files(pid) for pid in pids)


def _open_files(pid: int) -> set[str]:
    """What a process has open: ``socket:[INODE]`` for a socket."""
    found = set()
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found


def _inode(pid: int | None, descriptor: int) -> str:
    if pid is None or descriptor < 0:
        return ""
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/fd/{descriptor}")
    return ""


def _shown(holder: Holder) -> str:
    return f"[{holder.address}]:{holder.port}" if ":" in holder.address else f"{holder.address}:{holder.port}"


def _who(pid: int | None) -> str:
    """A stranger, with its command."""
    import psutil

    if pid is None:
        return "a process of another user"
    try:
        command = " ".join(psutil.Process(pid).cmdline()) or psutil.Process(pid).name()
    except psutil.Error:
        return f"process {pid}"
    return f"process {pid} ({visible(redacted(command)[:_SHOWN])})"

"""What the machine itself must have: memory, open files, room for logs, a place for state and for sockets."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Iterator, Mapping

from sm120kit.diagnosis.findings import at
from sm120kit.diagnosis.types import Finding, Manual
from sm120kit.fleet.preflight.findings import stops, warns
from sm120kit.fleet.preflight.room import room_for
from sm120kit.fleet.preflight.types import Answer
from sm120kit.fleet.preparation.open_files import open_files
from sm120kit.fleet.preparation.prepare import Prepared
from sm120kit.fleet.preparation.staging import missing_bytes
from sm120kit.fleet.spec import FleetSpec
from sm120kit.fleet.state import folder_of
from sm120kit.snapshot.facts import Known

_GIB, _MIB = 1 << 30, 1 << 20
_EACH_SERVER = 2 * _GIB
"""Bytes: 1.9 GiB were seen for the three processes of one server without a GPU."""
_WANTED_FILES = 65535
"""What SGLang raises its limit to (srt/utils/common.py, set_ulimit)."""
_ENOUGH_FILES, _FEWEST_FILES = 4096, 1024
"""A server holds a file for every connection of a client and a few hundred of its own."""
_OF_SUPERVISOR, _OF_EACH = 64, 32
"""Files that the supervisor of a rehearsal has open, by itself and for each stand-in: pipes, logs, connections."""
_LOG_LEAST, _LOG_ENOUGH = 64 * _MIB, _GIB
_SOCKET_PATH = 107
_MADE_BELOW = len("/sm120kit-xxxxxxxx/pymp-xxxxxxxx/listener-xxxxxxxx")
"""The longest that is made below the folder for temporary files: the socket of a process pool of Python's own, in a
server's own folder."""
_OWN_ADDRESSES = ("127.", "localhost", "::1")


def ask_host(prepared: Prepared, _environment: Mapping[str, str]) -> Answer:
    """All of it, with the figures that were fine."""
    spec = prepared.spec
    findings = [*_disk(spec), *_files(spec), *_sockets(), *_network(prepared)]
    text = "limits, disks and folders"
    if not spec.rehearsal:
        findings += _memory(prepared)
        available = prepared.case.snapshot.host.memory_available
        if isinstance(available, Known):
            text = f"{available.value / _GIB:.1f} GiB of memory available; {text}"
    return Answer("host", text, tuple(findings))


def _memory(prepared: Prepared) -> Iterator[Finding]:
    fact = prepared.case.snapshot.host.memory_available
    if not isinstance(fact, Known):
        return
    spec, folder = prepared.spec, prepared.place.folder if prepared.place.kind in ("folder", "cached") else ""
    number = len(spec.replicas)
    weights = _size(folder) if folder else 0
    parts = {f"{number} servers of at least {_EACH_SERVER / _GIB:.0f} GiB": number * _EACH_SERVER}
    if not any(replica.gpus for replica in spec.replicas):
        line = prepared.case.request.launch
        if weights and not (line and line.text("load_format") == "dummy"):
            parts[f"the model for each of them, {weights / _GIB:.1f} GiB"] = number * weights
    elif cache := _host_cache(prepared):
        parts["their hierarchical caches"] = cache
    if prepared.order.stage:
        parts["the copy on the RAM disk"] = missing_bytes(prepared.order.stage, folder) if folder else 0
    need, available = sum(parts.values()), fact.value
    evidence = [
        at(f"{available / _GIB:.1f} GiB available", fact.source.where),
        *(at(f"{size / _GIB:.1f} GiB for {what}") for what, size in parts.items()),
    ]
    if need > available:
        yield stops(
            "launch.host-memory-short",
            "memory",
            f"the servers need at least {need / _GIB:.1f} GiB of the machine's memory, and {available / _GIB:.1f} are "
            "available",
            evidence,
            [Manual("Start fewer servers (--gpus), or give the container more memory")],
        )
    elif not prepared.order.stage and need + weights > available:
        yield warns(
            "launch.host-memory-short",
            "memory",
            f"beside the servers there is no room to keep the model's {weights / _GIB:.1f} GiB in memory, so each of "
            "them reads it from the disk again",
            evidence,
            [Manual("Expect every server to load as slowly as the first")],
        )


def _size(folder: str) -> int:
    """Bytes of the files that lie there."""
    with open_files() as files:
        paths = (f"{folder}/{name}" for name in files.names(folder))
        return sum(files.size(path) for path in paths if files.is_file(path))


def _host_cache(prepared: Prepared) -> int:
    """Bytes of the host's part of hierarchical caches: ``--hicache-size`` (GB for each rank), else a multiple of the
    pool of keys and values."""
    line = prepared.case.request.launch
    if line is None or not line.switched_on("enable_hierarchical_cache"):
        return 0
    ranks = sum(len(replica.gpus) for replica in prepared.spec.replicas)
    size = line.number("hicache_size") or 0
    if size:
        return size * 10**9 * ranks
    plan = next((forecast.plan for forecast in prepared.forecasts if forecast.plan), None)
    return int((line.share("hicache_ratio") or 2.0) * plan.budget.kv_pool) * ranks if plan else 0


def _files(spec: FleetSpec) -> Iterator[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _OF_SUPERVISOR + _OF_EACH * len(spec.replicas) if spec.rehearsal else _FEWEST_FILES
    if hard in (resource.RLIM_INFINITY, -1) or hard >= (needed if spec.rehearsal else _ENOUGH_FILES):
        return
    say = stops if hard < needed else warns
    limited = f"a server may open {hard:,} files and connections at most, and SGLang asks for {_WANTED_FILES:,}"
    if spec.rehearsal:
        limited = f"a process may open {hard:,} files at most, and this rehearsal needs {needed:,}"
    yield say(
        "launch.file-limit",
        "open files",
        limited,
        [at(f"soft {soft:,}, hard {hard:,}", "RLIMIT_NOFILE")],
        [Manual("Raise the hard limit: LimitNOFILE= in a systemd unit, --ulimit nofile= for docker, ulimit -Hn here")],
    )


def _disk(spec: FleetSpec) -> Iterator[Finding]:
    folder = folder_of(spec.name)
    for what, path in {"state": folder.path, "logs": spec.log_folder or folder.logs}.items():
        room = room_for(path)
        where = "--log-dir" if what == "logs" else "XDG_STATE_HOME"
        if not room.writable:
            yield stops(
                "launch.state-unwritable",
                path,
                f"the {what} cannot be kept in {path}: {room.folder} cannot be written by this user",
                [at("not writable, or no folder", room.folder)],
                [Manual(f"Name another place with {where}")],
            )
        elif room.free < _LOG_ENOUGH or room.inodes == 0:
            say = stops if room.free < _LOG_LEAST or room.inodes == 0 else warns
            left = "no file can be made any more" if room.inodes == 0 else f"{room.free / _MIB:,.0f} MiB are free"
            yield say(
                "launch.log-disk-full",
                path,
                f"{left} where the {what} are kept",
                [at(left, room.folder)],
                [Manual(f"Make room, or name another place with {where}", (f"df -h {room.folder}",))],
            )


def _sockets() -> Iterator[Finding]:
    folder = tempfile.gettempdir()
    length = len(folder.encode("utf-8", "surrogateescape")) + _MADE_BELOW
    if length > _SOCKET_PATH:
        yield stops(
            "launch.socket-path-long",
            folder,
            f"sockets below {folder} would have paths of {length} bytes, and {_SOCKET_PATH} are the most",
            [at(f"{length} bytes with what is made below it", "TMPDIR")],
            [Manual("Take a shorter folder for temporary files", ("export TMPDIR=/tmp",))],
        )


def _network(prepared: Prepared) -> Iterator[Finding]:
    spec, line = prepared.spec, prepared.case.request.launch
    if spec.host.startswith(_OWN_ADDRESSES) or (line and line.text("api_key")):
        return
    yield warns(
        "launch.open-to-network",
        spec.host,
        f"the servers will listen on {spec.host}, where others may reach them, and ask for no key",
        [at(spec.host, "--host")],
        [Manual("Have clients send a key: --api-key-file FILE"), Manual("Listen on 127.0.0.1 behind a proxy")],
    )

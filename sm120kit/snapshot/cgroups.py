"""What a container's control groups leave of the machine: processors and memory, versions 1 and 2.

Formats: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ of the Linux kernel; cgroups(7), cpuset(7).
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterator

import msgspec

from sm120kit.snapshot.files import Files

_UNLIMITED = 1 << 60
"""Version 1 writes a number near 2^63 where there is no limit."""


class Limit(msgspec.Struct, frozen=True):
    """A number and the file that set it."""

    value: int
    path: str


class MemoryLimit(msgspec.Struct, frozen=True):
    """Bytes that a group may use, and how many of them are left: page cache that can be dropped counts as left."""

    total: int
    available: int
    path: str


def cpu_limit(files: Files, groups: str, mountinfo: str) -> Limit | None:
    """Processors that the tightest quota leaves, rounded up; ``None`` where there is none.

    ``groups`` is the text of /proc/self/cgroup, ``mountinfo`` that of /proc/self/mountinfo.
    """
    limits = []
    for folder, version in _folders(files, groups, mountinfo, "cpu"):
        if version == 2:
            path = f"{folder}/cpu.max"
            words = _text(files, path).split()
            quota, period = (words[0], words[1]) if len(words) == 2 else ("max", "")
        else:
            path = f"{folder}/cpu.cfs_quota_us"
            quota, period = _text(files, path).strip(), _text(files, f"{folder}/cpu.cfs_period_us").strip()
        if (number := _number(quota)) and (per := _number(period)):
            limits.append(Limit(max(1, math.ceil(number / per)), path))
    return min(limits, key=lambda limit: limit.value, default=None)


def memory_limits(files: Files, groups: str, mountinfo: str) -> tuple[MemoryLimit, ...]:
    """Every memory limit from this process's group up to the root, the innermost first."""
    limits = []
    for folder, version in _folders(files, groups, mountinfo, "memory"):
        limit_name, usage_name, cache_name = (
            ("memory.max", "memory.current", "inactive_file")
            if version == 2
            else ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        )
        total = _number(_text(files, f"{folder}/{limit_name}").strip())
        if not total or total >= _UNLIMITED:
            continue
        used = _number(_text(files, f"{folder}/{usage_name}").strip()) or 0
        statistics = dict(line.partition(" ")[::2] for line in _text(files, f"{folder}/memory.stat").splitlines())
        cache = _number(statistics.get(cache_name, "")) or 0
        available = max(0, min(total, total - used + cache))
        limits.append(MemoryLimit(total, available, f"{folder}/{limit_name}"))
    return tuple(limits)


def _folders(files: Files, groups: str, mountinfo: str, controller: str) -> Iterator[tuple[str, int]]:
    """Folders of this process's group and of those around it, as far as they can be seen, with their version."""
    mounts = list(_mounts(mountinfo))
    for line in groups.splitlines():
        _, _, rest = line.partition(":")
        names, colon, group = rest.partition(":")
        version = 1 if names else 2
        if not colon or (names and controller not in names.split(",")):
            continue
        for mount_version, options, top, mount in mounts:
            if mount_version != version or (version == 1 and controller not in options):
                continue
            inside = group[len(top.rstrip("/")) :] if f"{group}/".startswith(f"{top.rstrip('/')}/") else ""
            path = posixpath.normpath(f"{mount}/{inside}") if ".." not in inside.split("/") else mount
            if not files.is_dir(path):
                path = mount
            while True:
                yield path, version
                if path == mount or not path.startswith(mount):
                    break
                path = posixpath.dirname(path)


def _mounts(mountinfo: str) -> Iterator[tuple[int, frozenset[str], str, str]]:
    """Version, options, the group at its top, and mount point of every cgroup file system."""
    for line in mountinfo.splitlines():
        before, dash, after = line.partition(" - ")
        fields, kinds = before.split(), after.split()
        if dash and len(fields) >= 5 and len(kinds) >= 3 and kinds[0] in ("cgroup", "cgroup2"):
            yield 1 if kinds[0] == "cgroup" else 2, frozenset(kinds[2].split(",")), fields[3], fields[4]


def _text(files: Files, path: str) -> str:
    try:
        return files.text(path, 1 << 16)
    except OSError:
        return ""


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None

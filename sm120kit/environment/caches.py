"""Caches of compiled kernels: moved to a local disk where they would lie on a network or fuse mount.

Locks do not hold there, and files vanish under the reader (``Stale file handle``): flashinfer#3777, #993.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from sm120kit.diagnosis import Case
from sm120kit.diagnosis.kernel_caches import KERNEL_CACHES, default_folder, mount_of
from sm120kit.environment.types import KEPT, Variable

_LOCAL = "/var/tmp"


def cache_variables(case: Case) -> Iterator[Variable]:
    """The variables of those caches that lie on a slow mount unless told otherwise."""
    mounts, environment = case.snapshot.host.slow_mounts, case.snapshot.environment
    local = _local_folder(case)
    for cache in KERNEL_CACHES:
        default = default_folder(case, cache)
        slow = mount_of(default, mounts)
        if slow is None or not local or case.distribution(cache.distribution) is None:
            continue
        own, current = posixpath.join(local, cache.folder), environment.get(cache.variable, "")
        reason = (
            f"{default} lies on {slow.path} ({slow.file_system}), where locks do not hold and files vanish under the "
            f"reader. On a machine shared with others, make {local} yours alone first: mkdir -m 700 {local}."
        )
        if current in ("", own) or mount_of(current, mounts):
            yield Variable(cache.variable, "set", reason, own)
        else:
            yield Variable(cache.variable, "set-if-unset", f"{reason} {KEPT}", own)


def _local_folder(case: Case) -> str:
    """A folder of this user's on a disk of this machine; empty where even that lies on a slow mount."""
    environment, mounts = case.snapshot.environment, case.snapshot.host.slow_mounts
    xdg = environment.get("XDG_CACHE_HOME", "")
    if xdg.startswith("/") and not mount_of(xdg, mounts):
        return posixpath.join(xdg, "sm120kit")
    user = re.sub(r"[^\w.-]", "_", posixpath.basename(environment.get("HOME", "").rstrip("/"))) or "user"
    folder = f"{_LOCAL}/sm120kit-{user}"
    return "" if mount_of(folder, mounts) else folder

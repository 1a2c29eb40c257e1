"""Which folders lie on network or fuse file systems, where any look may hang."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sm120kit.snapshot.types.machine import Mount

SLOW_FILE_SYSTEMS = frozenset(
    {
        "9p", "afs", "beegfs", "beegfs_nodev", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4",
        "orangefs", "smb3", "smbfs", "virtiofs",
    }
)  # fmt: skip


def slow_mounts(mountinfo: str) -> tuple[Mount, ...]:
    """Network and fuse mounts named by the text of /proc/self/mountinfo (see proc(5)), deepest first."""
    slow = [
        mount
        for mount in _mounts(mountinfo)
        if mount.file_system in SLOW_FILE_SYSTEMS or mount.file_system.partition(".")[0] in ("fuse", "fuseblk")
    ]
    return tuple(sorted(slow, key=lambda mount: -len(mount.path)))


def file_system_of(mountinfo: str, path: str) -> str:
    """Kind of the file system that an absolute path without links lies on; empty where no line tells it."""
    around = [mount for mount in _mounts(mountinfo) if f"{path}/".startswith(f"{mount.path.rstrip('/')}/")]
    # Of two on the same folder the later one covers the other.
    return max(enumerate(around), key=lambda each: (len(each[1].path), each[0]))[1].file_system if around else ""


def _mounts(mountinfo: str) -> Iterator[Mount]:
    for line in mountinfo.splitlines():
        before, dash, after = line.partition(" - ")
        fields, kinds = before.split(), after.split()
        if dash and len(fields) >= 5 and kinds:
            yield Mount(_unescape(fields[4]), kinds[0])


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)

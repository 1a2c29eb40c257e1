"""Which folders lie on network or fuse file systems, where any look may hang."""

from __future__ import annotations

import re

from sm120kit.snapshot.types import Mount

SLOW_FILE_SYSTEMS = frozenset(
    {
        "9p", "afs", "beegfs", "beegfs_nodev", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4",
        "orangefs", "smb3", "smbfs", "virtiofs",
    }
)  # fmt: skip


def slow_mounts(mountinfo: str) -> tuple[Mount, ...]:
    """Network and fuse mounts named by the text of /proc/self/mountinfo (see proc(5)), deepest first."""
    found = []
    for line in mountinfo.splitlines():
        before, dash, after = line.partition(" - ")
        fields, kinds = before.split(), after.split()
        if not dash or len(fields) < 5 or not kinds:
            continue
        if kinds[0] in SLOW_FILE_SYSTEMS or kinds[0].partition(".")[0] in ("fuse", "fuseblk"):
            found.append(Mount(_unescape(fields[4]), kinds[0]))
    return tuple(sorted(found, key=lambda mount: -len(mount.path)))


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)

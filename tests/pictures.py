"""Pictures of folders, path by path, to compare what was before with what is after."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

Picture = dict[str, tuple[object, ...]]


def picture(folder: Path) -> Picture:
    """Every path below ``folder``: its type, mode, and what a link says or a digest of a file's bytes."""
    return _below(folder, folder) if folder.exists() else {}


def _below(folder: Path, top: Path) -> Picture:
    found: Picture = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            path = Path(entry.path)
            status = entry.stat(follow_symlinks=False)
            kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
            name = str(path.relative_to(top))
            if entry.is_symlink():
                found[name] = (kind, os.readlink(path))
            elif entry.is_dir():
                found[name] = (kind, mode)
                found |= _below(path, top)
            elif stat.S_ISREG(status.st_mode):
                with path.open("rb") as file:
                    digest = hashlib.sha256()
                    while piece := file.read(1 << 20):
                        digest.update(piece)
                found[name] = (kind, mode, digest.hexdigest())
            else:
                found[name] = (kind, mode)
    return found

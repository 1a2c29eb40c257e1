"""What was probably meant by a path that names no target, from what lies around it."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Iterator

from sm120kit.nearest import nearest_path
from sm120kit.snapshot.files import Files

_PARTS_OF_A_TOOLKIT = frozenset({"bin", "lib", "lib64", "include", "nvvm", "targets"})
_INSTALLED = (".dist-info", ".egg-info", ".egg-link", ".egg")
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
_LIBRARY_FOLDERS = ("lib", "lib64")


def near_python(files: Files, path: str) -> str:
    """An interpreter in or beside the folder ``path``, or with a name like the last one of ``path``."""
    if files.is_dir(path):
        near = (f"{path}/bin/python", f"{path}/python", f"{path}/python3", f"{posixpath.dirname(path)}/bin/python")
        return next((each for each in near if files.is_executable(each)), "")
    near_name = _near(files, path)
    return near_name if files.is_executable(near_name) else ""


def near_toolkit(files: Files, path: str) -> str:
    """The toolkit that the file or folder ``path`` is a part of, or that has a name like it."""
    folder = path
    for _ in range(2):
        if posixpath.basename(folder := folder if files.is_dir(folder) else posixpath.dirname(folder)) in (
            _PARTS_OF_A_TOOLKIT
        ) and files.exists(f"{posixpath.dirname(folder)}/bin/nvcc"):
            return posixpath.dirname(folder)
        folder = posixpath.dirname(folder)
    return "" if files.exists(path) else _near(files, path)


def near_packages(files: Files, path: str) -> str:
    """A folder of packages below or above the folder ``path``, or with a name like it."""
    if not files.is_dir(path):
        return _near(files, path)
    above = posixpath.dirname(path)
    if posixpath.basename(above) in _PACKAGE_FOLDERS:
        return above
    below = (each for start in (path, above) for each in _package_folders(files, start))
    return next((each for each in below if files.is_dir(each) and holds_packages(files, each)), "")


def holds_packages(files: Files, folder: str) -> bool:
    """Whether something is installed there, as far as names tell; a folder that cannot be listed may hold anything."""
    try:
        return any(name.endswith(_INSTALLED) for name in files.names(folder))
    except OSError:
        return True


def near_file(path: str, error: OSError, *, otherwise: str = "") -> str:
    """A question with the file of this machine that was probably meant; ``otherwise`` where ``error`` says anything
    else than that nothing is there, or nothing is like it."""
    near = _near(Files(), os.path.abspath(path)) if error.errno == errno.ENOENT else ""
    return f"Did you mean {near if path.startswith('/') else os.path.relpath(near)}?" if near else otherwise


def _package_folders(files: Files, start: str) -> Iterator[str]:
    """Where a Python whose home or library folder is ``start`` keeps its packages."""
    for library in (start, *(f"{start}/{name}" for name in _LIBRARY_FOLDERS)):
        versions = [name for name in _names(files, library) if name.startswith("python")]
        for folder in (library, *(f"{library}/{name}" for name in versions)):
            yield from (f"{folder}/{name}" for name in _PACKAGE_FOLDERS)


def _near(files: Files, path: str) -> str:
    return nearest_path(path, lambda folder: _names(files, folder), files.exists)


def _names(files: Files, folder: str) -> list[str]:
    try:
        return sorted(files.names(folder))
    except OSError:
        return []

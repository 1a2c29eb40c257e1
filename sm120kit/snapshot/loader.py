"""Where the dynamic loader of the target finds a library: LD_LIBRARY_PATH, /etc/ld.so.cache, the default folders.

The cache's layout is that of glibc's ``sysdeps/generic/dl-cache.h`` (``struct cache_file_new``).
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
from functools import cached_property

import msgspec

from sm120kit.snapshot.context import Context
from sm120kit.snapshot.files import Files

_TRIPLETS = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
_CACHE_FLAGS = {"x86_64": 0x0303, "aarch64": 0x0A03}
_ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
_OLD_MAGIC, _NEW_MAGIC = b"ld.so-1.7.0", b"glibc-ld.so.cache1.1"
_HEADER = struct.Struct("<20sIIB3xI12x")
_ENTRY = struct.Struct("<iIIIQ")
_BIG_ENDIAN = 3


class Loader(msgspec.Struct, frozen=True, dict=True):
    """The search path of one target."""

    files: Files
    variable_dirs: tuple[str, ...]
    """Folders of LD_LIBRARY_PATH, in order."""
    machine: str
    """``x86_64``, ``aarch64``, or empty where it is not known: then libraries of any are taken."""

    @classmethod
    def of(cls, context: Context) -> Loader:
        """The loader as a program of the target would meet it."""
        folders = variable_dirs(context.environment.get("LD_LIBRARY_PATH", ""))
        machine = _machine_of_files(context.files) if context.files.root else os.uname().machine
        return cls(context.files, folders, machine)

    @cached_property
    def default_dirs(self) -> tuple[str, ...]:
        """Folders searched last, and WSL's, which its own configuration adds to the cache."""
        triplet = _TRIPLETS.get(self.machine)
        multiarch = (f"/lib/{triplet}", f"/usr/lib/{triplet}") if triplet else ()
        return (*multiarch, "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/lib/wsl/lib")

    def find_all(self, soname: str) -> tuple[str, ...]:
        """Every library of that name in the loader's order, each file once, spelt as the loader spells it."""
        candidates = [f"{folder.rstrip('/')}/{soname}" for folder in self.variable_dirs]
        candidates += cached_paths(self._cache, soname, self.machine)
        candidates += [f"{folder}/{soname}" for folder in self.default_dirs]
        found: dict[str, str] = {}
        for path in filter(self.files.is_file, candidates):
            with contextlib.suppress(OSError):
                found.setdefault(self.files.real(path), path)
        return tuple(found.values())

    def holds(self, soname: str) -> bool:
        """Whether a library of that name is anywhere on this path: :meth:`find_all` for many names at little cost."""
        folders = (*self.variable_dirs, *self.default_dirs)
        return self.is_cached(soname) or any(self.files.is_file(f"{folder.rstrip('/')}/{soname}") for folder in folders)

    def is_cached(self, soname: str) -> bool:
        """Whether /etc/ld.so.cache names a file of that name that is there: what ``ldconfig -p`` would print."""
        name = soname.encode()
        if b"/" + name + b"\0" not in self._cache:
            return False
        found = re.findall(rb"(?<=\0)/[^\0]*/" + re.escape(name) + rb"(?=\0)", self._cache)
        return any(self.files.is_file(path.decode("utf-8", "surrogateescape")) for path in found)

    @cached_property
    def _cache(self) -> bytes:
        try:
            return self.files.read("/etc/ld.so.cache")
        except OSError:
            return b""


def variable_dirs(ld_library_path: str) -> tuple[str, ...]:
    """The absolute folders that LD_LIBRARY_PATH names, in order. Relative ones differ from process to process."""
    folders = ld_library_path.replace(";", ":").split(":")
    return tuple(dict.fromkeys(folder for folder in folders if folder.startswith("/")))


def cached_paths(cache: bytes, soname: str, machine: str) -> tuple[str, ...]:
    """Paths that an /etc/ld.so.cache gives for a library, in its order; nothing where it cannot be read."""
    start = _start(cache)
    if start < 0 or len(cache) < start + _HEADER.size:
        return ()
    _, count, _, endianness, _ = _HEADER.unpack_from(cache, start)
    first = start + _HEADER.size
    if endianness & 3 == _BIG_ENDIAN or first + count * _ENTRY.size > len(cache):
        return ()
    wanted = soname.encode() + b"\0"
    flags_of_machine = _CACHE_FLAGS.get(machine)
    paths = []
    for flags, key, value, _, _ in _ENTRY.iter_unpack(cache[first : first + count * _ENTRY.size]):
        if flags_of_machine not in (None, flags) or not cache.startswith(wanted, start + key):
            continue
        end = cache.find(b"\0", start + value)
        path = cache[start + value : end] if end >= 0 else b""
        if path.startswith(b"/"):
            paths.append(path.decode("utf-8", "surrogateescape"))
    return tuple(paths)


def _start(cache: bytes) -> int:
    """Where the present format begins: at once, or behind the one that libc 5 read."""
    if cache.startswith(_OLD_MAGIC) and len(cache) >= 16:
        (count,) = struct.unpack_from("<I", cache, 12)
        start: int = (16 + 12 * count + 7) & ~7
    else:
        start = 0
    return start if cache.startswith(_NEW_MAGIC, start) else -1


def _machine_of_files(files: Files) -> str:
    """The architecture an unpacked image was made for, from the ELF header of its shell or loader."""
    for path in ("/bin/sh", "/usr/bin/env", "/sbin/ldconfig", "/lib64/ld-linux-x86-64.so.2"):
        try:
            header = files.read(path, 20)
        except OSError:
            continue
        if header.startswith(b"\x7fELF") and len(header) == 20:
            return _ELF_MACHINES.get(int.from_bytes(header[18:20], "little"), "")
    return ""

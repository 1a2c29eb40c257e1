"""What JITs keep on disk: modules built before the compiler changed, and locks that nobody will take away.

* FlashInfer: $FLASHINFER_WORKSPACE_BASE (else the home folder) /.cache/flashinfer/VERSION/ARCH/cached_ops/MODULE, with
  ``cuda_home`` in build.ninja (jit/env.py, jit/cpp_ext.py of 0.6.7.post2 and 0.7.2.post1). tvm-ffi: $TVM_FFI_CACHE_DIR,
  else ~/.cache/tvm-ffi, with ``nvcc`` in build.ninja (cpp/extension.py of 0.1.11).
* Both run ninja before every load. It compares times: a module is built anew where a header that it was made from is
  newer, and taken as it is where the compiler alone changed, or where a link now leads to a toolkit of older files.
* Their locks are flock(2), gone with their holder (filelock). torch's extension builder makes a file and waits for its
  end without limit (utils/file_baton.py of 2.13.0): whoever is killed in a build leaves all that follow hanging.
"""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Iterator
from itertools import islice
from typing import Literal

from sm120kit.patterns import pattern
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.types.jit import BuildLock, BuiltModules

Keeper = Literal["flashinfer", "tvm-ffi"]

MOST_MODULES = 400
"""Modules looked at in one cache."""

_MOST_ARCHITECTURES = 4
_MOST_NAMED = 5
_NINJA_LIMIT = 8 << 10
_HOME = pattern(rb"^cuda_home = (.+)$", re.MULTILINE)
_NVCC = pattern(rb"^nvcc = (.+)/bin/nvcc$", re.MULTILINE)
_MOST_LINKS = 8
_MOST_PROCESSES = 20_000


def read_built_modules(context: Context, distributions: Distributions) -> tuple[BuiltModules, ...]:
    """Those of the installed FlashInfer and tvm-ffi, by the CUDA home that they were built through."""
    found: list[BuiltModules] = []
    flashinfer = distributions.first("flashinfer-python")
    home = context.environment.get("HOME", "")
    if flashinfer and (base := context.environment.get("FLASHINFER_WORKSPACE_BASE") or home):
        folder = f"{base.rstrip('/')}/.cache/flashinfer/{flashinfer.version}"
        for architecture in _names(context.files, folder)[:_MOST_ARCHITECTURES]:
            found += _built(context.files, "flashinfer", f"{folder}/{architecture}/cached_ops")
    if distributions.first("apache-tvm-ffi"):
        folder = context.environment.get("TVM_FFI_CACHE_DIR") or (home and f"{home}/.cache/tvm-ffi")
        if folder:
            found += _built(context.files, "tvm-ffi", folder.rstrip("/"))
    return tuple(found)


def read_build_locks(context: Context, distributions: Distributions) -> tuple[BuildLock, ...]:
    """Locks of torch's extension builder."""
    if not distributions.first("torch"):
        return ()
    paths = [path for path in _lock_paths(context) if context.files.is_file(path)]
    now = time.time()
    locks = []
    for path in paths:
        try:
            modified = context.files.modified(path)
        except OSError:
            continue  # released while we looked
        locks.append(BuildLock(path, modified, max(0, int(now - modified)), _holders(context, path)))
    return tuple(locks)


def _built(files: Files, consumer: Keeper, folder: str) -> list[BuiltModules]:
    by_home: dict[str, list[tuple[str, float]]] = {}
    for name in islice(_names(files, folder), MOST_MODULES):
        built = _module(files, f"{folder}/{name}")
        if built:
            by_home.setdefault(built[0], []).append((name, built[1]))
    return [_judged(files, consumer, folder, home, modules) for home, modules in sorted(by_home.items())]


def _module(files: Files, folder: str) -> tuple[str, float] | None:
    """The CUDA home that a module was built through, and when; ``None`` where it was not finished."""
    try:
        text = files.read(f"{folder}/build.ninja", _NINJA_LIMIT)
        match = _HOME.search(text) or _NVCC.search(text)
        libraries = [name for name in files.names(folder) if name.endswith(".so")]
        if match is None or not libraries:
            return None
        return match[1].decode("utf-8", "surrogateescape"), files.modified(f"{folder}/{libraries[0]}")
    except OSError:
        return None


def _judged(files: Files, consumer: Keeper, folder: str, home: str, modules: list[tuple[str, float]]) -> BuiltModules:
    try:
        changed, what = _compiler_changed(files, home)
        header = files.modified(f"{home}/include/cuda_runtime_api.h")
    except OSError as error:
        return BuiltModules(consumer, folder, home, len(modules), Unknown(f"{error.filename}: {error.strerror}"))
    older = sorted(name for name, built in modules if header <= built < changed)
    return BuiltModules(
        consumer, folder, home, len(modules), Known(what, Source("file", what)), tuple(older[:_MOST_NAMED]), len(older)
    )


def _compiler_changed(files: Files, home: str) -> tuple[float, str]:
    """When the nvcc that this home leads to last became another one, and the file or link that tells."""
    nvcc = f"{home}/bin/nvcc"
    latest = (files.modified(nvcc), nvcc)
    path = home.rstrip("/")
    for _ in range(_MOST_LINKS):
        if not files.is_link(path):
            break
        latest = max(latest, (files.link_modified(path), path))
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), files.link(path)))
    return latest


def _lock_paths(context: Context) -> Iterator[str]:
    environment = context.environment
    named = environment.get("TORCH_EXTENSIONS_DIR")
    if named:
        yield from (f"{named.rstrip('/')}/{name}/lock" for name in _names(context.files, named)[:MOST_MODULES])
        return
    home = environment.get("HOME", "")
    cache = environment.get("XDG_CACHE_HOME") or (home and f"{home}/.cache")
    if not cache:
        return
    for build in _names(context.files, f"{cache}/torch_extensions")[:MOST_MODULES]:
        folder = f"{cache}/torch_extensions/{build}"
        yield from (f"{folder}/{name}/lock" for name in _names(context.files, folder)[:MOST_MODULES])


def _holders(context: Context, path: str) -> Fact[tuple[int, ...]]:
    """Processes that have the file open, as far as this user may see them. The builder keeps it open while it works."""
    if not context.live:
        return Unknown("an unpacked image has no processes")
    files = context.files
    try:
        real = files.real(path)
        processes = [name for name in files.names("/proc") if name.isdecimal()][:_MOST_PROCESSES]
    except OSError as error:
        return Unknown(f"{error.filename}: {error.strerror}")
    found = [int(process) for process in processes if _has_open(files, f"/proc/{process}/fd", real)]
    return Known(tuple(sorted(found)), Source("file", "/proc/*/fd"))


def _has_open(files: Files, folder: str, path: str) -> bool:
    return any(_link(files, f"{folder}/{name}") == path for name in _names(files, folder))


def _link(files: Files, path: str) -> str:
    try:
        return files.link(path)
    except OSError:
        return ""


def _names(files: Files, folder: str) -> list[str]:
    try:
        return files.names(folder)
    except OSError:
        return []

"""The copies of CCCL (nv, cuda/std, cub, thrust) that one nvcc run would search, in its order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.records import RecordIndex
from sm120kit.snapshot.types.toolkits import CcclCopy

_STD_HEADERS = ("cuda/std/__cccl/version.h", "cuda/std/detail/libcxx/include/__cccl/version.h")
"""CCCL_VERSION, since CCCL 2.7 and up to 2.6."""
_SAMPLED = ("nv", "cuda", "cuda/std", "cuda/std/__cccl")
"""Folders in which files that no wheel lists are looked for: each release adds some to them. The whole of a copy is
1,700 files and would cost more than all else here."""
_HEAD = 16 << 10


def cccl_copies(files: Files, include_dirs: Sequence[str], records: RecordIndex) -> tuple[CcclCopy, ...]:
    """Every include folder that holds a part of CCCL.

    A folder whose ``cuda/std`` and ``cub`` or ``thrust`` are of two versions is listed once for each.
    """
    found: list[CcclCopy] = []
    for folder in include_dirs:
        try:
            names = set(files.names(folder))
        except OSError:
            continue
        if names.isdisjoint(("nv", "cuda", "cub", "thrust")):
            continue
        found += _copies_in(files, folder, names, records)
    return tuple(found)


def version_header(files: Files, copy: CcclCopy) -> str:
    """The file that tells a copy's version, or the one that shows its presence."""
    if isinstance(copy.version, Known):
        return copy.version.source.where
    shown = ("nv/target", "cub/cub.cuh", "thrust/version.h")
    return next(
        (path for name in shown if files.is_file(path := f"{copy.include_dir}/{name}")), f"{copy.include_dir}/cuda/std"
    )


def _copies_in(files: Files, folder: str, names: set[str], records: RecordIndex) -> list[CcclCopy]:
    has_nv = "nv" in names and files.is_file(f"{folder}/nv/target")
    has_std = "cuda" in names and files.is_dir(f"{folder}/cuda/std")
    has_cub = "cub" in names and files.is_file(f"{folder}/cub/cub.cuh")
    has_thrust = "thrust" in names and files.is_file(f"{folder}/thrust/version.h")
    if not (has_nv or has_std or has_cub or has_thrust):
        return []
    of_std = _std_version(files, folder) if has_std else None
    of_rest = _macro(files, f"{folder}/cub/version.cuh", b"CUB_VERSION", 100_000) if has_cub else None
    if of_rest is None and has_thrust:
        of_rest = _macro(files, f"{folder}/thrust/version.h", b"THRUST_VERSION", 100_000)
    if of_std and of_rest and of_std.value != of_rest.value:
        owner, unowned = _ownership(files, folder, of_std, records)
        return [
            CcclCopy(folder, of_std, has_nv, True, False, False, owner, unowned),
            CcclCopy(folder, of_rest, False, False, has_cub, has_thrust, owner, unowned),
        ]
    unversioned = Unknown(f"{folder} holds no version header of CCCL, and nv/target carries no version")
    version: Fact[str] = of_std or of_rest or unversioned
    owner, unowned = _ownership(files, folder, version, records)
    return [CcclCopy(folder, version, has_nv, has_std, has_cub, has_thrust, owner, unowned)]


def _std_version(files: Files, folder: str) -> Known[str] | None:
    for name in _STD_HEADERS:
        if known := _macro(files, f"{folder}/{name}", b"CCCL_VERSION", 1_000_000):
            return known
    return None


def _macro(files: Files, path: str, name: bytes, major: int) -> Known[str] | None:
    """Decode MMMmmmppp (``major`` 1,000,000) or MMMmmmpp (100,000) into ``3.0.1``."""
    try:
        text = files.read(path, _HEAD)
    except OSError:
        return None
    match = re.search(rb"#[ \t]*define[ \t]+" + name + rb"[ \t]+(\d{5,9})\b", text)
    if not match:
        return None
    number, patches = int(match[1]), major // 1000
    version = f"{number // major}.{number // patches % 1000}.{number % patches}"
    return Known(version, Source("file", path, text.count(b"\n", 0, match.start()) + 1))


def _ownership(files: Files, folder: str, version: Fact[str], records: RecordIndex) -> tuple[str, int]:
    """The wheel that a copy comes from, and how many sampled files no wheel lists; nothing where none owns it."""
    marks = [f"{folder}/nv/target"]
    if isinstance(version, Known):
        marks.insert(0, version.source.where)
    owner = next((owned.owner for mark in marks if (owned := records.owner(mark))), "")
    if not owner:
        return "", 0
    unowned = 0
    for place in (f"{folder}/{name}" for name in _SAMPLED):
        try:
            entries = files.names(place)
        except OSError:
            continue
        for path in (f"{place}/{name}" for name in records.unlisted(place, entries)):
            unowned += files.is_file(path) and not records.owner(path)
    return owner, unowned

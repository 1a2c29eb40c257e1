"""Libraries that NVIDIA's wheels put into site-packages/nvidia: where they lie, which two wheels list one of them, and
which ones LD_LIBRARY_PATH puts others before."""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from sm120kit.patterns import pattern
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.loader import Loader
from sm120kit.snapshot.records import Distributions, RecordIndex, requires
from sm120kit.snapshot.types.packages import Claim, Distribution, Shadow, SharedFile

MOST_SHADOWS = 64

_VERSIONED = pattern(r"lib[\w.+-]+\.so\.\d+")
_OF_MAJOR = pattern(r"(nvidia-.+)-cu\d\d")
_LIBRARY = pattern(r"/[^/]+\.so(?:\.\d+)*")


def library_dirs(files: Files, site_packages: Sequence[str]) -> dict[str, frozenset[str]]:
    """The ``lib`` folders of NVIDIA's wheels, each with the names in it."""
    found = {}
    for site in site_packages:
        for package in _names(files, f"{site}/nvidia"):
            folder = f"{site}/nvidia/{package}/lib"
            if names := _names(files, folder):
                found[folder] = frozenset(names)
    return found


def read_shared_files(files: Files, distributions: Distributions) -> tuple[SharedFile, ...]:
    """The libraries that wheels of two CUDA majors both list, such as nvidia-nccl-cu12 and nvidia-nccl-cu13."""
    found: list[SharedFile] = []
    for pair in _pairs(distributions):
        wanted = _wanted(files, distributions, pair)
        claims: dict[str, list[Claim]] = {}
        index = RecordIndex(files, pair)
        for site in dict.fromkeys(posixpath.dirname(each.path) for each in pair):
            for path, owned in index.below(f"{site}/nvidia"):
                if _LIBRARY.fullmatch(path[path.rindex("/") :]):
                    claims.setdefault(path, []).append(Claim(owned.owner, -1 if owned.size is None else owned.size))
        for path, each in sorted(claims.items()):
            if len({claim.owner for claim in each}) > 1:
                with contextlib.suppress(OSError):
                    found.append(SharedFile(path, files.size(path), tuple(each), wanted))
    return tuple(found)


def read_shadows(
    loader: Loader, folders: Callable[[], Mapping[str, frozenset[str]]], records: RecordIndex
) -> tuple[Shadow, ...]:
    """The libraries of wheels that have a namesake in a folder of LD_LIBRARY_PATH."""
    if not loader.variable_dirs:
        return ()
    return tuple(islice(_shadows(loader, folders(), records), MOST_SHADOWS))


def _shadows(loader: Loader, folders: Mapping[str, frozenset[str]], records: RecordIndex) -> Iterator[Shadow]:
    files = loader.files
    seen: set[str] = set()
    for before in loader.variable_dirs:
        names = frozenset(_names(files, before))
        for folder, own in folders.items():
            for soname in sorted(own & names - seen):
                wheel_path, path = f"{folder}/{soname}", f"{before.rstrip('/')}/{soname}"
                if not _VERSIONED.fullmatch(soname):
                    continue
                seen.add(soname)
                with contextlib.suppress(OSError):
                    real = files.real(path)
                    if real != files.real(wheel_path):
                        owned = records.owner(wheel_path)
                        yield Shadow(soname, wheel_path, owned.owner if owned else "", path, real)


def _pairs(distributions: Distributions) -> Iterator[tuple[Distribution, ...]]:
    by_stem: dict[str, list[Distribution]] = {}
    for each in distributions.starting_with("nvidia-"):
        if match := _OF_MAJOR.fullmatch(each.name):
            by_stem.setdefault(match[1], []).append(each)
    yield from (tuple(each) for each in by_stem.values() if len({one.name for one in each}) > 1)


def _wanted(files: Files, distributions: Distributions, pair: Sequence[Distribution]) -> str:
    """Which of them torch's metadata asks for, with its version."""
    torch = distributions.first("torch")
    if torch is None:
        return ""
    try:
        lines = requires(files, torch)
    except OSError:
        return ""
    names = {each.name for each in pair}
    for line in lines:
        pin = re.match(r"([\w.-]+)\s*\(?==\s*([\w.!+]+)", line)
        if pin and pin[1].lower().replace("_", "-") in names:
            return f"{pin[1].lower().replace('_', '-')} {pin[2]}"
    return ""


def _names(files: Files, folder: str) -> list[str]:
    try:
        return files.names(folder)
    except OSError:
        return []

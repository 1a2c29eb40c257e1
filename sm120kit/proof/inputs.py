"""What a rung read: every header by the preprocessor's own account, where else one could appear, and its programs."""

from __future__ import annotations

import os
import posixpath
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence

from sm120kit.proof.types import Rung

_HOST_COMPILERS = ("g++", "gcc", "c++", "cc", "as", "ld")
"""What nvcc and the link lines start by name."""
_NAMED_BY = ("CC", "CXX", "NVCC_CCBIN", "CUDAHOSTCXX")


def files_read(rung: Rung, scratch: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Paths whose change, appearance or end could change the outcome; empty where that cannot be told."""
    listing, preprocessed = os.path.join(scratch, "kernel.d"), os.path.join(scratch, "probe.ii")
    if os.path.exists(listing):
        headers = _headers_listed(listing)
    elif os.path.exists(preprocessed):
        headers = _headers_marked(preprocessed)
    else:
        return ()
    found = {path for path in headers if not path.startswith(scratch)}
    return tuple(sorted({*found, *_earlier(found, rung.include_dirs), *_programs(rung, environment)}))


def _headers_listed(path: str) -> set[str]:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
        words = re.findall(r"(?<!\S)(/(?:\\ |\S)+)", file.read().replace("\\\n", " "))
    return {word.replace("\\ ", " ") for word in words}


def _headers_marked(path: str) -> set[str]:
    # Ten megabytes and more: looked through as bytes and in one go, it takes a tenth of what lines would.
    with open(path, "rb") as file:  # noqa: PTH123
        return {os.fsdecode(name) for name in set(re.findall(rb'\n# \d+ "(/[^"\n]+)"', file.read()))}


def _earlier(headers: set[str], include_dirs: Sequence[str]) -> Iterator[str]:
    """The same names in the folders before the one where each header was found: nothing stands there, as yet."""
    for header in headers:
        holder = max((folder for folder in include_dirs if header.startswith(f"{folder}/")), key=len, default=None)
        if holder is not None:
            for folder in include_dirs[: include_dirs.index(holder)]:
                yield folder + header[len(holder) :]


def _programs(rung: Rung, environment: Mapping[str, str]) -> Iterator[str]:
    yield from rung.tools
    names = [rung.command[0], *_HOST_COMPILERS]
    names += [word for name in _NAMED_BY for word in environment.get(name, "").split()[:1]]
    for name in names:
        path = shutil.which(name, path=environment.get("PATH", posixpath.defpath))
        if path is not None:
            yield path

"""What compiling at run time needs and leaves behind, as plain data."""

from __future__ import annotations

from typing import Literal

from sm120kit.snapshot.facts import Fact, Unknown
from sm120kit.snapshot.types.base import Struct


class BuildTools(Struct, frozen=True):
    """What a JIT calls by name and needs beside a CUDA toolkit."""

    ninja: Fact[str] = Unknown("it was not looked for")
    """The one on the target's PATH."""
    own_ninja: str = ""
    """One in the target's own folder of programs, which may not be on PATH."""
    python_header: Fact[str] = Unknown("it was not looked for")
    """Python.h of the target's interpreter."""


class BuildLock(Struct, frozen=True):
    """A lock that lives as a file, whoever made it: torch's extension builder waits for it without end."""

    path: str
    modified: float
    """Seconds since 1970."""
    age_s: int
    holders: Fact[tuple[int, ...]]
    """Processes that have it open."""


class BuiltModules(Struct, frozen=True):
    """Modules that a JIT has built and keeps, those built through one CUDA home together."""

    consumer: Literal["flashinfer", "tvm-ffi"]
    folder: str
    cuda_home: str
    """As build.ninja names it."""
    count: int
    compiler: Fact[str]
    """What tells when the compiler at that path last changed: the compiler itself, or a link that leads to it."""
    older: tuple[str, ...] = ()
    """Modules that were built before it changed, sorted; at most the first few."""
    older_count: int = 0

"""Which host compilers a rung starts, and which of them are not there: without one nothing can be said of a toolkit."""

from __future__ import annotations

import os
import posixpath
import shutil
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sm120kit.diagnosis.host_compilers import ccbin_in
from sm120kit.proof.types import Rung
from sm120kit.snapshot.compiler_command import compiler_of, words

_LINKED_BY = "c++"
_STARTED_BY_NVCC = "gcc"


class Absent(NamedTuple):
    """A host compiler that is not there: why a rung is not run, and what to do."""

    reason: str
    remedy: str


def absent_compiler(rung: Rung, environment: Mapping[str, str]) -> Absent | None:
    """The first host compiler of ``rung`` that a process with ``environment`` does not find; ``None`` if all are."""
    for command, named_by in _compilers(rung, environment):
        for program in dict.fromkeys((*words(command)[:1], compiler_of(command))):
            if program and not _is_there(program, environment):
                return _absent(program, named_by)
    return None


def _compilers(rung: Rung, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Commands of host compilers, each with the variable that names it; empty where none does."""
    if "nvcc" in rung.host_compilers:
        variables = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
        given = [(command, name) for name in variables if (command := ccbin_in(environment.get(name, "")))]
        yield given[0] if given else _named("NVCC_CCBIN", _STARTED_BY_NVCC, environment)
    if "link" in rung.host_compilers:
        yield _named("CXX", _LINKED_BY, environment)


def _named(variable: str, otherwise: str, environment: Mapping[str, str]) -> tuple[str, str]:
    given = environment.get(variable, "")
    return (given, variable) if given else (otherwise, "")


def _is_there(program: str, environment: Mapping[str, str]) -> bool:
    if os.path.isdir(program):
        # -ccbin may name the folder of a compiler.
        program = posixpath.join(program, _STARTED_BY_NVCC)
    return shutil.which(program, path=environment.get("PATH", posixpath.defpath)) is not None


def _absent(program: str, named_by: str) -> Absent:
    if posixpath.isabs(program):
        reason = f"{program}, which {named_by} names, is not there or cannot be run"
    elif named_by:
        reason = f"no {program}, which {named_by} names, on PATH"
    else:
        reason = "no gcc/c++ on PATH"
    if named_by:
        return Absent(reason, f"Install {program}, or set {named_by} to a compiler that is installed")
    return Absent(
        reason,
        "Install gcc and g++ (Debian and Ubuntu: apt-get install g++), or put the folder that holds them on PATH",
    )

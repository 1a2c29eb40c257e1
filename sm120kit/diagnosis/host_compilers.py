"""Which C++ compiler each nvcc run would use. Pure: from what the snapshot says of variables and compilers."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator

import msgspec

from sm120kit.diagnosis.case import Case, Use
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.toolkits import Consumer, HostCompiler, HostCompilerLimits

PASS_CC = frozenset({"flashinfer", "torch.utils.cpp_extension"})
"""Consumers that give nvcc ``$CC`` as -ccbin (flashinfer jit/cpp_ext.py, torch utils/cpp_extension.py)."""

_CCBIN = ("-ccbin", "--compiler-bindir")
_DEFAULTS = ("gcc", "g++", "c++", "cc")


class ChosenCompiler(msgspec.Struct, frozen=True):
    """The host compiler of some nvcc runs."""

    command: str
    """As nvcc is told: ``gcc``, ``/usr/bin/gcc-14``."""
    because: str
    """``-ccbin from CC``, ``NVCC_CCBIN``, ``nvcc's default``."""
    compiler: HostCompiler | None
    """``None`` where the snapshot does not know such a compiler."""
    consumers: tuple[str, ...]


def chosen_compilers(case: Case, use: Use) -> tuple[ChosenCompiler, ...]:
    """The host compilers of this toolkit's takers, each once; of nvcc itself where nobody takes it."""
    variables = case.snapshot.environment
    names: dict[tuple[str, str], list[str]] = {}
    for consumer in use.consumers or (None,):
        chosen = _command(variables, consumer)
        names.setdefault(chosen, []).extend([consumer.name] if consumer else [])
    return tuple(
        ChosenCompiler(command, because, _find(case.snapshot.host_compilers, command), tuple(who))
        for (command, because), who in names.items()
    )


def limit_of(limits: HostCompilerLimits, kind: str) -> int:
    """Newest major version of that kind of compiler which the toolkit admits; 0 where it sets no limit."""
    return {"gcc": limits.gcc, "clang": limits.clang}.get(kind, 0)


def major_of(compiler: HostCompiler) -> int:
    """Its major version; 0 where that is not known."""
    version = compiler.version.value if isinstance(compiler.version, Known) else ""
    head = version.partition(".")[0]
    return int(head) if head.isdecimal() else 0


def older_compilers(case: Case, limits: HostCompilerLimits) -> Iterator[HostCompiler]:
    """Compilers on this machine that the toolkit admits, newest first, gcc before clang."""
    fitting = [
        each
        for each in case.snapshot.host_compilers
        if 0 < major_of(each) <= limit_of(limits, each.kind) and isinstance(each.path, Known)
    ]
    yield from sorted(fitting, key=lambda each: (each.kind != "gcc", -major_of(each), "++" in each.command))


def flags_of(case: Case, *names: str) -> tuple[str, ...]:
    """The words of these variables, as a shell would split them."""
    return tuple(_words(" ".join(case.snapshot.environment.get(name, "") for name in names)))


def _command(variables: dict[str, str], consumer: Consumer | None) -> tuple[str, str]:
    named = {name: ccbin_in(variables.get(name, "")) for name in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")}
    for name, command in named.items():
        if command:
            return command, f"-ccbin in {name}"
    if consumer is not None and consumer.name in PASS_CC and variables.get("CC"):
        return variables["CC"], "-ccbin from CC"
    if variables.get("NVCC_CCBIN"):
        return variables["NVCC_CCBIN"], "NVCC_CCBIN"
    return "gcc", "nvcc's default"


def ccbin_in(flags: str) -> str:
    """The host compiler that ``-ccbin`` names among nvcc's options; empty where it is not there."""
    given = _words(flags)
    for place, word in enumerate(given):
        name, equals, value = word.partition("=")
        if name in _CCBIN:
            return value if equals else "".join(given[place + 1 : place + 2])
    return ""


def _find(compilers: tuple[HostCompiler, ...], command: str) -> HostCompiler | None:
    wanted = [command] if command != "gcc" else list(_DEFAULTS)
    for name in wanted:
        for each in compilers:
            path = each.path.value if isinstance(each.path, Known) else ""
            if name in (each.command, path, posixpath.basename(path)):
                return each
    return None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()

"""Host compilers: those that consumers and nvcc would call, and the others that could take their place.

Only what would be called is asked for its version (``--version``, 2 ms of CPU); of the others names tell: the file
behind /usr/bin/g++ is x86_64-linux-gnu-g++-12, that behind clang++ lies in /usr/lib/llvm-14.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Literal

from sm120kit.patterns import pattern
from sm120kit.snapshot.compiler_command import compiler_of, words
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.runner import RunFailure
from sm120kit.snapshot.types.toolkits import HostCompiler

Kind = Literal["gcc", "clang", "other"]

VARIABLES = ("CXX", "CC", "NVCC_CCBIN", "CUDAHOSTCXX")
"""Variables that name a host compiler: for linking, for FlashInfer's -ccbin, for nvcc itself, for CMake."""
FLAG_VARIABLES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
"""Variables whose flags nvcc adds to its own; one of them may be ``-ccbin``."""

_COMMON = ("c++", "g++", "gcc", "cc", "clang++", "clang")
_NAME = pattern(r"(?:[\w.]+-)*?(gcc|g\+\+|cc|c\+\+|clang|clang\+\+)(?:-(\d+(?:\.\d+)*))?")
_IN_FOLDER = pattern(r"/(?:llvm|clang|gcc-toolset|devtoolset|gcc)-(\d+(?:\.\d+)*)/")
_CLANG_SAYS = pattern(r"\bclang version (\d+(?:\.\d+)+)")
_GCC_SAYS = pattern(r"^[^\n(]*\([^\n]*?\) (\d+\.\d+(?:\.\d+)*)")
_OLDEST_SUFFIX = 7


def read_host_compilers(context: Context) -> tuple[HostCompiler, ...]:
    """Those named by variables, then the common names on PATH, then others by their versions (``g++-13``).

    A compiler that would be called and is missing is listed with an unknown path: c++, and whatever a variable names.
    """
    asked: dict[str, tuple[Kind, Fact[str]]] = {}
    return tuple(_compilers(context, asked))


def _compilers(context: Context, asked: dict[str, tuple[Kind, Fact[str]]]) -> Iterator[HostCompiler]:
    commands = [command for name in VARIABLES if (command := context.environment.get(name))]
    commands += filter(None, (_ccbin(context.environment.get(name, "")) for name in FLAG_VARIABLES))
    called = {*commands, "gcc"} if "CXX" in context.environment else {*commands, "c++", "gcc"}
    for command in dict.fromkeys((*commands, *_COMMON)):
        path = _path(context, command)
        if isinstance(path, Unknown):
            if command in commands or command == "c++":
                yield HostCompiler(command, path, _kind_by_name(compiler_of(command)), path)
            continue
        real = _real(context, path.value)
        kind, version = _by_name(path.value, real)
        # Where the file's name tells the major version, which is all that nvcc's limits speak of, nobody is asked.
        if command in called and isinstance(version, Unknown):
            key = real if _NAME.fullmatch(posixpath.basename(real)) else path.value
            if key not in asked:
                asked[key] = _ask(context, command, path.value)
            said_kind, said = asked[key]
            kind, version = _prefer(kind, said_kind), said if isinstance(said, Known) else version
        yield HostCompiler(command, path, kind, version)
    yield from _alternatives(context, commands)


def _alternatives(context: Context, commands: list[str]) -> Iterator[HostCompiler]:
    """Compilers with a version in their names, on PATH: what a remedy can point to."""
    seen = set(commands)
    folders = {_real(context, folder): folder for folder in reversed(context.path_dirs)}
    for folder in reversed(folders.values()):
        for name in _names(context, folder):
            match = _NAME.fullmatch(name) if name.startswith(("gcc", "g++", "clang")) else None
            if match is None or not match[2] or name in seen or int(match[2].partition(".")[0]) < _OLDEST_SUFFIX:
                continue
            path = f"{folder.rstrip('/')}/{name}"
            if context.files.is_executable(path):
                seen.add(name)
                kind, version = _by_name(path, _real(context, path))
                yield HostCompiler(name, Known(path, Source("file", path)), kind, version)


def _ccbin(flags: str) -> str:
    """The compiler that ``-ccbin`` (``--compiler-bindir``) names among nvcc flags; empty where it is not there."""
    if "-" not in flags:
        return ""
    match = re.search(r"(?:^|\s)(?:-ccbin|--?compiler-bindir)[=\s]\s*(\S.*)", flags)
    return next(iter(words(match[1])), "") if match else ""


def _names(context: Context, folder: str) -> list[str]:
    try:
        return context.files.names(folder)
    except OSError:
        return []


def _path(context: Context, command: str) -> Fact[str]:
    program = compiler_of(command)
    if not program:
        return Unknown(f"{command!r} names no compiler")
    if "/" in program and context.files.is_dir(program):
        # nvcc's -ccbin, and so NVCC_CCBIN, may name the folder that holds gcc.
        program = f"{program.rstrip('/')}/gcc"
    found = context.which(program)
    if found is None:
        where = "is not there or cannot be executed" if "/" in program else "is not on PATH"
        return Unknown(f"{program} {where}")
    return Known(found, Source("file", found))


def _real(context: Context, path: str) -> str:
    try:
        return context.files.real(path)
    except OSError:
        return path


def _by_name(path: str, real: str) -> tuple[Kind, Fact[str]]:
    """What the names of a compiler, the one it is called by and that of its file, tell."""
    kind = _kind_by_name(path)
    if kind == "other":
        return kind, Unknown(f"{path} is neither gcc nor clang by its name, and was not asked")
    kind = _prefer(kind, _kind_by_name(real))
    for name in (real, path):
        match = _NAME.fullmatch(posixpath.basename(name))
        version = match[2] if match and match[2] else None
        if version is None and (folder := _IN_FOLDER.search(name)):
            version = folder[1]
        if version:
            return kind, Known(version, Source("file", name))
    return kind, Unknown(f"the name of {real} does not tell its version, and it was not asked")


def _kind_by_name(path: str) -> Kind:
    """``c++`` and ``cc`` are gcc's names for itself; where they are links to clang, the file's name says so."""
    match = _NAME.fullmatch(posixpath.basename(path))
    if match is None:
        return "other"
    return "clang" if match[1].startswith("clang") else "gcc"


def _prefer(by_name: Kind, closer: Kind) -> Kind:
    """A wrapper such as mpicc stays what it is, whatever compiler answers through it."""
    return by_name if by_name == "other" or closer == "other" else closer


def _ask(context: Context, command: str, path: str) -> tuple[Kind, Fact[str]]:
    first, *rest = words(command)
    program = path if first == compiler_of(command) else context.which(first) or first
    arguments = (program, *rest, "--version")
    try:
        ran = context.run(arguments, extra_environment={"LC_ALL": "C"})
    except RunFailure as failure:
        return "other", Unknown(str(failure))
    source = Source("command", " ".join(arguments))
    if match := _CLANG_SAYS.search(ran.stdout):
        return "clang", Known(match[1], source)
    if match := _GCC_SAYS.search(ran.stdout):
        return "gcc", Known(match[1], source)
    line = (ran.stdout + ran.stderr).strip().partition("\n")[0]
    return "other", Unknown(f"{' '.join(arguments)} does not tell a version of gcc or clang: {line[:200]}")

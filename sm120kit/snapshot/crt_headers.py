"""What the compiler's own headers (include/crt) tell of themselves; no macro in them names their release.

Read in nvidia-cuda-nvcc-cu12 12.8.93 and 12.9.86 and in nvidia-cuda-crt 13.0.88, 13.1.115, 13.2.78, 13.3.33,
13.3.73, 13.4.92 and 13.5.37.
"""

from __future__ import annotations

import re

from sm120kit.patterns import pattern
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.types.toolkits import GlibcGuards, HostCompilerLimits

_LAUNCH = pattern(rb"^[ \t]*#[ \t]*define[ \t]+__cudaLaunch\(([^)\r\n]*)\)", re.MULTILINE)
_GCC = pattern(r"^[ \t]*#[ \t]*if[ \t]+__GNUC__[ \t]*>[ \t]*(\d{1,4})\b", re.MULTILINE)
_CLANG_BLOCK = pattern(r"^[ \t]*#[ \t]*(?:el)?if[ \t]+defined\(__clang__\)", re.MULTILINE)
_CLANG = pattern(r"__clang_major__[ \t]*(>=?)[ \t]*(\d{1,4})\b")


def launch_arguments(files: Files, include_dir: str) -> Fact[int]:
    """How many arguments ``__cudaLaunch`` of crt/host_runtime.h takes: 2 in release 13.0, 1 in every other one."""
    path = f"{include_dir}/crt/host_runtime.h"
    text = _read(files, path)
    if isinstance(text, Unknown):
        return text
    counts = {len(match[1].split(b",")) for match in _LAUNCH.finditer(text)}
    if len(counts) != 1:
        return Unknown(f"{path} defines __cudaLaunch in no way that is known here")
    return Known(counts.pop(), _source(path, text, b"__cudaLaunch("))


def host_compiler_limits(files: Files, include_dir: str) -> Fact[HostCompilerLimits]:
    """The newest gcc and clang that crt/host_config.h lets through; clang by the limit for Linux hosts, since the
    header holds others (for HORIZON and Grace) beside it."""
    path = f"{include_dir}/crt/host_config.h"
    text = _read(files, path)
    if isinstance(text, Unknown):
        return text
    header = text.decode("utf-8", "replace")
    gcc = _GCC.search(header)
    block = _CLANG_BLOCK.search(header)
    clang = _CLANG.search(header, block.end()) if block else None
    if not gcc and not clang:
        return Unknown(f"{path} holds no limit for gcc or clang in a form that is known here")
    newest_clang = int(clang[2]) - (clang[1] == ">=") if clang else 0
    return Known(HostCompilerLimits(int(gcc[1]) if gcc else 0, newest_clang), _source(path, text, b"if __GNUC__ >"))


def glibc_guards(files: Files, include_dir: str) -> Fact[GlibcGuards]:
    """Whether the declarations of ``sinpi`` and ``rsqrt`` in crt/math_functions.h carry an exception specifier:
    glibc 2.41 (sinpi, cospi) and 2.42 (rsqrt) declare theirs with one, and C++ wants both alike."""
    path = f"{include_dir}/crt/math_functions.h"
    text = _read(files, path)
    if isinstance(text, Unknown):
        return text
    sinpi, rsqrt = (_specifier(text, name) for name in (b"sinpi", b"rsqrt"))
    if sinpi is None or rsqrt is None:
        return Unknown(f"{path} declares sinpi or rsqrt in no way that is known here")
    return Known(GlibcGuards(sinpi, rsqrt), _source(path, text, b"sinpi(double x)"))


def _specifier(text: bytes, name: bytes) -> bool | None:
    """Whether anything stands between ``name(double x)`` and its semicolon; ``None`` without such a declaration."""
    declaration = name + b"(double x)"
    start = text.find(b" " + declaration)
    end = text.find(b";", start)
    if start < 0 or end < 0:
        return None
    return bool(text[start + 1 + len(declaration) : end].strip())


def _read(files: Files, path: str) -> bytes | Unknown:
    try:
        return files.read(path)
    except OSError as error:
        return Unknown(f"{path} cannot be read: {error.strerror}")


def _source(path: str, text: bytes, what: bytes) -> Source:
    found = text.find(what)
    return Source("file", path, text.count(b"\n", 0, found) + 1 if found >= 0 else 0)

"""Triton: its own compiler down to PTX, then ptxas.

Read in 3.3.1 (backends/nvidia/compiler.py, ``_path_to_binary``, ``get_ptxas``), a snapshot between 3.4 and 3.5, 3.6.0
and 3.8.0 (knobs.py, ``env_nvidia_tool``; compiler.py, ``get_ptxas``). For Blackwell (compute capability 10.0 and up):

* From 3.6: $TRITON_PTXAS_BLACKWELL_PATH, else its own bin/ptxas-blackwell; TRITON_PTXAS_PATH has no say.
* 3.4 and 3.5, and before 3.3: $TRITON_PTXAS_PATH, else its own bin/ptxas.
* 3.3: its own bin/ptxas-blackwell; the variable's name is TRITON_PTXAS-BLACKWELL_PATH, which no shell can set.

A path that does not exist is passed over. One that cannot be executed ends in PermissionError, as does an empty value
from 3.4 on. A bare name is looked for on PATH (from 3.4). Older GPUs take ptxas and TRITON_PTXAS_PATH in every version.
"""

from __future__ import annotations

import posixpath
from typing import Final

import msgspec

from sm120kit.snapshot.consumers.installed import at_least, first_installed, package_path
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.types.packages import TorchBuild
from sm120kit.snapshot.types.toolkits import Consumer

NAME: Final = "triton"


class _Tool(msgspec.Struct, frozen=True):
    """The assembler that a version takes for Blackwell."""

    binary: str
    variable: str
    uses_knobs: bool
    """The rule of 3.4 and later: whatever the variable names is started, from PATH too."""


def find(context: Context, distributions: Distributions, _torch: Fact[TorchBuild]) -> Consumer | None:
    """Triton, where it is installed."""
    installed = first_installed(distributions, "triton", "pytorch-triton")
    if installed is None:
        return None
    tool = _tool(installed.version)
    own = f"{package_path(installed, 'triton')}/backends/nvidia/bin/{tool.binary}"
    ptxas, found_via = _ptxas(context, tool, own)
    home: Fact[str] = ptxas
    if isinstance(ptxas, Known):
        home = Known(posixpath.dirname(ptxas.value), ptxas.source)
    return Consumer(
        name=NAME,
        distribution=f"{installed.name} {installed.version}",
        need="always",
        rule=f"{tool.variable} if that exists, else its own {tool.binary} (for Blackwell)",
        found_via=found_via,
        cuda_home=home,
        nvcc=ptxas,
        host_compiler=_host_compiler(context),
    )


def _tool(version: str) -> _Tool:
    if at_least(version, 3, 6):
        return _Tool("ptxas-blackwell", "TRITON_PTXAS_BLACKWELL_PATH", uses_knobs=True)
    if at_least(version, 3, 4):
        return _Tool("ptxas", "TRITON_PTXAS_PATH", uses_knobs=True)
    if at_least(version, 3, 3):
        return _Tool("ptxas-blackwell", "TRITON_PTXAS-BLACKWELL_PATH", uses_knobs=False)
    return _Tool("ptxas", "TRITON_PTXAS_PATH", uses_knobs=False)


def _ptxas(context: Context, tool: _Tool, own: str) -> tuple[Fact[str], str]:
    named = context.environment.get(tool.variable)
    if named == "" and tool.uses_knobs:
        return Unknown(f"{tool.variable} is set and empty: triton ends with PermissionError; unset it"), tool.variable
    if named and "/" not in named and tool.uses_knobs:
        named = context.which(named)
    if named and context.files.exists(named):
        if context.files.is_executable(named):
            return Known(named, Source("variable", tool.variable)), tool.variable
        if tool.uses_knobs or context.files.is_file(named):
            return Unknown(f"{tool.variable} names {named}, which cannot be executed"), tool.variable
    if context.files.is_file(own):
        return Known(own, Source("file", own)), f"its own {tool.binary}"
    return Unknown(f"{tool.variable} names no program, and triton's own is missing: there is no {own}"), ""


def _host_compiler(context: Context) -> str:
    """It builds its launcher with $CC, else gcc, else clang (runtime/build.py)."""
    named = context.environment.get("CC")
    if named is not None:
        return named
    return "clang" if context.which("gcc") is None and context.which("clang") else "gcc"

"""CC, CXX and NVCC_CCBIN: only where a host compiler is too new for this toolkit and another one on disk fits."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from msgspec.structs import replace

from sm120kit.diagnosis import Case, Known, Use
from sm120kit.diagnosis.host_compilers import ChosenCompiler, chosen_compilers, limit_of, major_of, older_compilers
from sm120kit.environment.home import Home
from sm120kit.environment.types import KEPT, Variable
from sm120kit.snapshot.types.toolkits import HostCompiler, HostCompilerLimits, Toolkit

_NAMES = ("CC", "CXX", "NVCC_CCBIN")
_USES = {
    "CC": "torch and FlashInfer hand it to nvcc as -ccbin.",
    "CXX": "It links what nvcc has compiled.",
    "NVCC_CCBIN": "nvcc takes it where it is called without -ccbin, as by SGLang and tvm-ffi.",
}
_CXX = re.compile(r"\+\+(-\d[\d.]*)?$")


def compiler_variables(case: Case, home: Home) -> Iterator[Variable]:
    """One compiler for everything that this toolkit compiles and links."""
    limits = home.toolkit.host_compiler_limits if home.toolkit else None
    if home.toolkit is None or not isinstance(limits, Known):
        return
    environment = case.snapshot.environment
    now = _too_new(case, home.toolkit, limits.value)
    # Judged first as if nobody had named a compiler: the script must not change once it has been sourced.
    too_new = _too_new(_unnamed(case), home.toolkit, limits.value) or now
    if too_new is None or too_new.compiler is None:
        return
    values = _fitting(case, limits.value)
    kind = too_new.compiler.kind
    why = (
        f"{too_new.command} is {kind} {major_of(too_new.compiler)}, and this toolkit takes {kind} up to "
        f"{limit_of(limits.value, kind)}; "
    )
    for name in _NAMES if values else ():
        kept = now is None and environment.get(name, "") not in ("", values[name])
        reason = f"{why}this one is on the machine and fits. {_USES[name]}" + (f" {KEPT}" if kept else "")
        yield Variable(name, "set-if-unset" if kept else "set", reason, values[name])


def _unnamed(case: Case) -> Case:
    """The case without the variables that name a compiler, and without compilers that only they lead to."""
    environment = case.snapshot.environment
    named = {environment[name] for name in _NAMES if "/" in environment.get(name, "")}
    compilers = tuple(each for each in case.snapshot.host_compilers if each.command not in named)
    without = {name: value for name, value in environment.items() if name not in _NAMES}
    return replace(case, snapshot=replace(case.snapshot, environment=without, host_compilers=compilers))


def _too_new(case: Case, toolkit: Toolkit, limits: HostCompilerLimits) -> ChosenCompiler | None:
    """The first compiler that some consumer of this toolkit would use and the toolkit would refuse."""
    takers = tuple(consumer for consumer in case.snapshot.consumers if consumer.name != "triton")
    for chosen in chosen_compilers(case, Use(toolkit, takers, named=True, needed=True)):
        compiler = chosen.compiler
        if compiler and 0 < limit_of(limits, compiler.kind) < major_of(compiler):
            return chosen
    return None


def _fitting(case: Case, limits: HostCompilerLimits) -> dict[str, str]:
    """Paths by variable: the first C compiler that fits and has a C++ compiler of its kind and major version."""
    fitting = tuple(older_compilers(case, limits))
    for plain in fitting:
        for plus in fitting:
            same = (plain.kind, major_of(plain)) == (plus.kind, major_of(plus))
            if same and not _is_cxx(plain) and _is_cxx(plus):
                return {"CC": _path(plain), "CXX": _path(plus), "NVCC_CCBIN": _path(plus)}
    return {}


def _is_cxx(compiler: HostCompiler) -> bool:
    return _CXX.search(posixpath.basename(_path(compiler))) is not None


def _path(compiler: HostCompiler) -> str:
    return compiler.path.value if isinstance(compiler.path, Known) else compiler.command

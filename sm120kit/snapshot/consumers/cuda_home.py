"""The search for a CUDA home that torch began with and most consumers copied, with the turns in which they differ.

The common rule: ``os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")``; if that is None, two folders above the
first nvcc on PATH; else /usr/local/cuda. So an empty CUDA_HOME counts as unset, while an empty CUDA_PATH is taken as
the answer: the home is then the empty path.
"""

from __future__ import annotations

import posixpath

import msgspec

from sm120kit.snapshot.compiler_command import compiler_of
from sm120kit.snapshot.consumers.visibility import visible
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown

DEFAULT_HOME = "/usr/local/cuda"
RULE = "CUDA_HOME, else CUDA_PATH, else two folders above the first nvcc on PATH, else /usr/local/cuda"


class Choice(msgspec.Struct, frozen=True):
    """A consumer's CUDA home, and by which step of its rule it came there (empty: by none)."""

    home: Fact[str]
    found_via: str = ""
    is_empty_path: bool = False
    """The consumer works with the empty string; ``home`` is unknown and says why."""

    def nvcc(self) -> Fact[str]:
        """bin/nvcc below it, as ``os.path.join`` makes the path."""
        if isinstance(self.home, Unknown):
            return self.home
        return Known(posixpath.join(self.home.value, "bin", "nvcc"), self.home.source)


def choose(
    context: Context,
    consumer: str,
    *,
    runs_which: bool = False,
    goes_on_without_which: bool = False,
    default_must_exist: bool = True,
) -> Choice:
    """Apply the common rule. ``--cuda-home`` stands in the target's CUDA_HOME, and is called by its own name.

    ``runs_which``: the program ``which`` is started where others search PATH themselves (both leave links unresolved);
    without that program the consumer fails, or takes the default if it ``goes_on_without_which``.
    ``default_must_exist``: /usr/local/cuda is taken only where it exists.
    """
    environment = context.environment
    named = environment.get("CUDA_HOME") or environment.get("CUDA_PATH")
    if named and named == context.target.cuda_home:
        return Choice(Known(named, Source("option", "--cuda-home")), "--cuda-home")
    if named:
        variable = "CUDA_HOME" if environment.get("CUDA_HOME") else "CUDA_PATH"
        return Choice(Known(named, Source("variable", variable)), variable)
    if named == "":
        reason = f"CUDA_PATH is set and empty, and {consumer} takes that for its CUDA home"
        return Choice(Unknown(reason), "CUDA_PATH", is_empty_path=True)
    searches = True
    if runs_which and context.which("which") is None:
        if not goes_on_without_which:
            reason = f"{consumer} runs the program which to look for nvcc, and there is none on PATH; set CUDA_HOME"
            return Choice(Unknown(reason))
        searches = False
    nvcc = _first_nvcc(context) if searches else None
    if nvcc is not None:
        return Choice(Known(posixpath.dirname(posixpath.dirname(nvcc)), Source("file", nvcc)), "nvcc on PATH")
    if not default_must_exist or (context.files.exists(DEFAULT_HOME) and visible(context, DEFAULT_HOME)):
        return Choice(Known(DEFAULT_HOME, Source("file", DEFAULT_HOME)), DEFAULT_HOME)
    return Choice(
        Unknown(f"CUDA_HOME and CUDA_PATH are not set, no nvcc is on PATH, and there is no {DEFAULT_HOME}"),
    )


def compiler_named_by(context: Context, variable: str) -> Fact[str] | None:
    """The compiler that a variable such as FLASHINFER_NVCC names, launchers such as ccache passed over; ``None`` where
    the variable is not set."""
    command = context.environment.get(variable)
    if command is None:
        return None
    program = compiler_of(command)
    if not program:
        return Unknown(f"{variable} is set to {command!r}, which names no program")
    if "/" in program:
        return Known(program, Source("variable", variable))
    found = context.which(program)
    if found is None:
        return Unknown(f"{variable} names {program}, and no program of that name is on PATH")
    return Known(found, Source("variable", variable))


def _first_nvcc(context: Context) -> str | None:
    return next((path for path in context.which_all("nvcc") if visible(context, path)), None)

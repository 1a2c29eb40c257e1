"""What a JIT needs beside a toolkit: ninja, which every one calls by its bare name, and Python's header.

FlashInfer (jit/cpp_ext.py, ``run_ninja``), tvm-ffi (cpp/extension.py) and torch.utils.cpp_extension start ``ninja`` by
PATH alone; the package of that name adds nothing to PATH. Triton's launchers include Python.h (runtime/build.py).
"""

from __future__ import annotations

from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.types.jit import BuildTools
from sm120kit.snapshot.types.packages import Interpreter


def read_build_tools(context: Context, interpreter: Fact[Interpreter]) -> BuildTools:
    """Look for them by PATH and by name; nothing is started."""
    found = context.which("ninja")
    ninja: Fact[str] = Known(found, Source("file", found)) if found else Unknown("no ninja is on PATH")
    folders = [interpreter.value.scripts_dir] if isinstance(interpreter, Known) else []
    folders += [f"{site}/bin" for site in context.site_packages]
    own = (f"{folder}/ninja" for folder in folders if folder)
    return BuildTools(
        ninja=ninja,
        own_ninja=next(filter(context.files.is_executable, own), ""),
        python_header=_python_header(context, interpreter),
    )


def _python_header(context: Context, interpreter: Fact[Interpreter]) -> Fact[str]:
    """Known and empty where the include folder of a known interpreter has none."""
    if isinstance(interpreter, Unknown):
        return Unknown(f"the interpreter is not known: {interpreter.reason}")
    folder = interpreter.value.include_dir
    if not folder:
        return Unknown(f"{interpreter.value.executable} does not tell its include folder")
    path = f"{folder}/Python.h"
    return Known(path if context.files.is_file(path) else "", Source("file", folder))

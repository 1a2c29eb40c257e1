"""Builds the library that ``-lcuda`` links against where no driver is: every function of cuda.h, and its soname.

A program linked with it asks for libcuda.so.1 at run time, which only a driver answers. The file itself is never
called libcuda.so.1: the loader would take it for the driver.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.snapshot.runner import RunFailure, run

CUDA_ERROR_STUB_LIBRARY = 34
_FEWEST_NAMES = 100
_LIMIT_S = 30.0


def function_names(cuda_h: str) -> tuple[str, ...]:
    """Every symbol that a program including this cuda.h may refer to, sorted.

    Prototypes (``CUDAAPI cuX(``), the versioned names behind ``#define cuX cuX_v2``, and the per-thread stream
    forms behind ``__CUDA_API_PTDS``/``__CUDA_API_PTSZ``.
    """
    code = re.sub(r"/\*.*?\*/|//[^\n]*", " ", cuda_h, flags=re.DOTALL)
    names = set(re.findall(r"\bCUDAAPI\s+(cu[A-Za-z0-9_]+)\s*\(", code))
    for alias, behind in re.findall(
        r"^[ \t]*#[ \t]*define[ \t]+(cu[A-Z]\w*)[ \t]+(cu[A-Z]\w*)[ \t]*$", code, re.MULTILINE
    ):
        names |= {alias, behind}
    for form, name in re.findall(r"__CUDA_API_(PTDS|PTSZ)\(\s*(cu[A-Z]\w*)\s*\)", code):
        names |= {name, f"{name}_{form.lower()}"}
    return tuple(sorted(names))


def build_stub(cuda_h_path: str, compiler: str, environment: Mapping[str, str]) -> bytes:
    """Compile the stub in a scratch folder and return its bytes.

    Raises:
        Sm120kitError: cuda.h is not one, or the compiler did not make the library.
    """
    try:
        with open(cuda_h_path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            names = function_names(file.read())
    except OSError as error:
        raise Sm120kitError(f"{cuda_h_path} cannot be read: {error.strerror}", exit_code=TARGET_UNREADABLE) from error
    if len(names) < _FEWEST_NAMES:
        raise Sm120kitError(
            f"{cuda_h_path} declares only {len(names)} driver functions, so it is not a whole cuda.h",
            hint="Install the CUDA runtime headers again",
            exit_code=TARGET_UNREADABLE,
        )
    source = "".join(f"int {name}(void){{return {CUDA_ERROR_STUB_LIBRARY};}}\n" for name in names)
    with tempfile.TemporaryDirectory(prefix="sm120kit-stub-") as scratch:
        made, code = os.path.join(scratch, "libcuda.so"), os.path.join(scratch, "stub.c")
        with open(code, "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(source)
        options = ["-w", "-O0", "-g0", "-shared", "-fPIC", "-nostdlib", "-fno-builtin", "-x", "c"]
        options += ["-Wl,-soname,libcuda.so.1", "-Wl,--build-id=none", "-o", made, code]
        try:
            ran = run([compiler, *options], environment={**environment, "LC_ALL": "C"}, limit_s=_LIMIT_S, cwd=scratch)
        except RunFailure as failure:
            raise _not_built(compiler, str(failure)) from failure
        if ran.returncode != 0:
            raise _not_built(compiler, (ran.stderr.strip().splitlines() or ["it gave no reason"])[0])
        with open(made, "rb") as library:  # noqa: PTH123
            return library.read()


def _not_built(compiler: str, why: str) -> Sm120kitError:
    return Sm120kitError(
        f"the stub for -lcuda could not be built with {compiler}: {why}",
        hint="Install a C compiler (Debian and Ubuntu: apt-get install gcc), or set CC to one",
        exit_code=TARGET_UNREADABLE,
    )

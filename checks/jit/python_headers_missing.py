"""Python.h is missing: Triton cannot build the launcher that starts its kernels

## What it finds
An interpreter whose include folder has no Python.h, with Triton installed.

## Why it matters
Triton compiles a small C module at the first kernel, and for each new signature another: `fatal error: Python.h: No
such file or directory`, in cuda_utils.c or main.c. Distributions keep the header in a package of its own
(python3.12-dev), and images leave it out.

## How it is found
The interpreter's own include folder, as its sysconfig names it, is looked into. It is an error where an engine is
installed, which starts Triton's kernels; else a note. Where CPATH or C_INCLUDE_PATH names folders, the header may come
from there, and nothing is said.

## Remedy
Install the header package of this very interpreter, or take a Python that brings its headers (conda, uv).

## Sources
- triton 3.8.0 runtime/build.py, backends/nvidia/driver.c
- sgl-project/sglang#1117, #18644; vllm-project/vllm#27890
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Known,
    LogRemedy,
    Manual,
    Severity,
    Signature,
    Unknown,
    at,
    check,
    finding,
)
from sm120kit.diagnosis.serving import consumer, engine

SIGNATURES = [
    Signature(
        pattern=r"fatal error: Python\.h: No such file or directory",
        rank="cause",
        example="/tmp/tmpq3bk1y2c/cuda_utils.c:7:10: fatal error: Python.h: No such file or directory",
        look_alike="main.cpp:3:10: fatal error: PythonQt.h: No such file or directory",
        source="sgl-project/sglang#1117, #18644; vllm-project/vllm#27890",
        message="The headers of the Python that ran are not installed, and Triton compiles against them",
        remedies=(
            LogRemedy(
                "Install those of this very Python",
                (
                    "apt-get install python[[{python_version}|3]]-dev",
                    "dnf install python[[{python_version}|3]]-devel",
                ),
            ),
            LogRemedy("Take a Python of conda or uv, which bring them"),
        ),
    ),
]


@check("jit.python-headers-missing", needs="triton")
def python_headers_missing(case: Case) -> Iterator[Finding | CannotTell]:
    triton, header = consumer(case, "triton"), case.snapshot.build_tools.python_header
    if triton is None:
        return
    if isinstance(header, Unknown):
        yield CannotTell("Python.h", header.reason)
        return
    if header.value:
        return
    elsewhere = [name for name in ("CPATH", "C_INCLUDE_PATH") if case.snapshot.environment.get(name)]
    if elsewhere:
        yield CannotTell("Python.h", f"the interpreter has none, and {elsewhere[0]} names other include folders")
        return
    interpreter = case.snapshot.interpreter
    version = interpreter.value.version if isinstance(interpreter, Known) else ""
    serves = engine(case)
    need = f"{serves.name} runs its kernels" if serves else "torch.compile needs them"
    yield finding(
        Severity.ERROR if serves else Severity.NOTE,
        "Python.h",
        f"Python {version} has no Python.h: Triton cannot build what starts its kernels, and {need}",
        [at("no Python.h", header.source.where), at(triton.distribution, "", triton.distribution)],
        [_remedy(case, ".".join(version.split(".")[:2]))],
    )


def _remedy(case: Case, version: str) -> Manual:
    distribution = case.snapshot.host.distribution
    name = distribution.value if isinstance(distribution, Known) else ""
    text = "Install the headers of this interpreter"
    if any(word in name for word in ("Fedora", "Red Hat", "Rocky", "Alma", "CentOS", "Amazon")):
        return Manual(text, (f"dnf install python{version}-devel",))
    return Manual(f"{text}; Pythons of conda and uv bring them", (f"apt-get install python{version}-dev",))

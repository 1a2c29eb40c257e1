"""libcuda.so is not found by the linker: neither a driver's nor a toolkit's stub has that name

## What it finds
A toolkit whose users link with `-lcuda` while no folder of their line and none of the linker's own holds a
`libcuda.so`. It tells apart: a driver that is there as `libcuda.so.1` only, a toolkit without a `stubs` folder, and a
wrapper script for nvcc that sends the linker to another folder.

## Why it matters
The link is the last step of every JIT build: after minutes of compiling it ends with
`/usr/bin/ld: cannot find -lcuda`. Drivers bring `libcuda.so.1`, which programs load; `libcuda.so`, which linkers ask
for, comes from a toolkit's `lib64/stubs`, and none of NVIDIA's wheels on PyPI holds it.

## How it is found
The linker is asked as the package that compiles calls it, in the target's environment. Where nothing can
be run, the folders of that line are looked through by name, and the evidence says so. In an unpacked image (`--root`)
it is a warning: container runtimes add the driver's libraries when the container starts.

## Remedy
With a driver at hand, link its `libcuda.so.1` as `libcuda.so` in a folder of your own and put that folder on
LIBRARY_PATH. Without one, make a stub there, or install the package that holds it. Keep stubs off LD_LIBRARY_PATH and
never name one `libcuda.so.1`: programs would load it in place of the driver, and every call would fail with 34.

## Sources
- unslothai/unsloth#1141, state-spaces/mamba#123, triton-lang/triton#1981
- flashinfer 0.7.2.post1, jit/cpp_ext.py: -L$cuda_home/lib64 -L$cuda_home/lib64/stubs -lcudart -lcuda
- cuda.h of CUDA 13.0: CUDA_ERROR_STUB_LIBRARY = 34
"""

import posixpath
import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Known,
    LogRemedy,
    Manual,
    NotApplicable,
    Remedy,
    Severity,
    Signature,
    at,
    check,
    finding,
)
from sm120kit.diagnosis.linking import (
    LinkFailure,
    link_command,
    link_failures,
    linker_evidence,
    on_library_path,
    package_with,
    repairs,
    take_real_home,
)
from sm120kit.snapshot.types.toolkits import Toolkit

SIGNATURES = [
    Signature(
        pattern=r"\b(ld|ld\.\w+|lld): .*(cannot find|unable to find library) -lcuda(?![\w-])",
        rank="cause",
        example="/usr/bin/ld: cannot find -lcuda: No such file or directory",
        look_alike="/usr/bin/ld: cannot find -lcudart: No such file or directory",
        source="flashinfer 0.7.2.post1 with CUDA_HOME at the wheels of CUDA 13.0; unslothai/unsloth#1141",
        versions="flashinfer 0.4 to 0.7, sglang JIT, triton",
        message="The linker finds no libcuda.so: the toolkit brings no stub of the driver's library",
        remedies=(
            LogRemedy("Let a toolkit of links be composed that has every name", ("sm120kit fix",)),
            LogRemedy(
                "With the driver on this machine, link its library under that name in a folder of your own",
                (
                    "ldconfig -p | grep libcuda.so.1",
                    "mkdir -p ~/libcuda && ln -s FOUND ~/libcuda/libcuda.so",
                    "export LIBRARY_PATH=~/libcuda:$LIBRARY_PATH",
                ),
            ),
            LogRemedy("Install the package with the stub: cuda-driver-dev, of the release of the toolkit"),
        ),
    ),
]


@check("toolkit.libcuda-stub-missing")
def libcuda_stub_missing(case: Case) -> Iterator[Finding | CannotTell]:
    if not case.toolkits:
        raise NotApplicable("nothing installed uses a toolkit that has an nvcc, and none is named")
    for failure in link_failures(case, "cuda"):
        yield failure if isinstance(failure, CannotTell) else _missing(case, failure)


def _missing(case: Case, failure: LinkFailure) -> Finding:
    severity = failure.severity
    if case.snapshot.target.kind == "root":
        severity = min(severity, Severity.WARNING, key=lambda each: each.rank)
    driver = _driver_library(case)
    wanted = f"{failure.home}/lib64/stubs/libcuda.so"
    evidence: list[Evidence] = [*linker_evidence(failure), at("does not exist", wanted)]
    if driver:
        evidence.append(at("the driver's library: programs load it, linkers ask for libcuda.so", driver))
    message = f"{failure.who} does not find libcuda.so: {_cause(failure, driver)}"
    return finding(severity, failure.home, message, evidence, _remedies(failure, driver))


def _cause(failure: LinkFailure, driver: str) -> str:
    if failure.behind_wrapper:
        where = f"the linker is sent to {failure.home}/lib64, while the compiler comes from {failure.tree}"
    elif any("stubs/" in name for name in failure.toolkit.link_names):
        where = f"the stubs folder of {failure.tree} is not where the linker looks"
    else:
        where = f"{failure.tree} has no stub for it"
    return f"{where}, and the driver's is there as {driver} only" if driver else f"{where}, and no driver's is there"


def _remedies(failure: LinkFailure, driver: str) -> list[Remedy]:
    toolkit = failure.toolkit
    first = take_real_home(failure)
    if first:
        return first
    return [*repairs(failure), *_by_hand(toolkit, driver)]


def _by_hand(toolkit: Toolkit, driver: str) -> list[Remedy]:
    if driver:
        text = "Let the linker find the driver's library under the name it asks for"
        return [on_library_path(text, toolkit, link_command(driver, "libcuda.so"))]
    if package := package_with(toolkit, apt="cuda-driver-dev", conda="cuda-driver-dev"):
        return [Manual("Install the package that holds the stub", package)]
    header = toolkit.part("driver-header")
    if header is None:
        return []
    text = "Make a stub that linkers find; every function of it answers 34 (CUDA_ERROR_STUB_LIBRARY)"
    return [on_library_path(text, toolkit, _stub_command(posixpath.dirname(header.path)))]


def _stub_command(include_dir: str) -> str:
    return (
        f"echo '#include <cuda.h>' | gcc -E -P -I{shlex.quote(include_dir)} - | grep -oE '\\bcu[A-Z][A-Za-z0-9_]*\\('"
        " | sort -u | sed 's/^/int /; s/($/(void) { return 34; }/'"
        ' | gcc -x c -shared -fPIC -nostdlib -Wl,-soname,libcuda.so.1 -o "$DIR/libcuda.so" -'
    )


def _driver_library(case: Case) -> str:
    """The driver's libcuda.so.1 by the path that outlives an update; empty where there is none to link against."""
    driver = case.snapshot.driver
    resolved = driver.libcuda.value if isinstance(driver.libcuda, Known) else ()
    beside = [f"{posixpath.dirname(path)}/libcuda.so.1" for path in resolved]
    usable = [path for path in driver.libcuda_links or beside if "compat" not in path.split("/")]
    return usable[0] if usable else ""

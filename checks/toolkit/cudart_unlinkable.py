"""libcudart.so is not found by the linker: the toolkit does not hold it where linkers look

## What it finds
A toolkit whose users link with `-L$CUDA_HOME/lib64 -lcudart` while no folder of that line holds a `libcudart.so`. It
tells apart: pip's wheels, which have `lib/` and no `lib64/`; a library with its version only (`libcudart.so.13`);
a toolkit without the library; and a wrapper script for nvcc that sends the linker to another folder, such as
`/usr/local/lib64`.

## Why it matters
The link is the last step of every JIT build. After minutes of compiling it ends with
`/usr/bin/ld: cannot find -lcudart`, which servers report as "Ninja build failed".

## How it is found
The linker is asked as the package that compiles calls it, in the target's environment (so LIBRARY_PATH and
a compiler's own folders count). Where nothing can be run, the folders of that line are looked through by name, and
the evidence says so.

## Remedy
Let `sm120kit fix` compose a toolkit of links that has every name. Or link the name in a folder of your own and put that
folder on LIBRARY_PATH: nothing in the packages is touched. Behind a wrapper script, name the real tree by CUDA_HOME.

## Sources
- flashinfer-ai/flashinfer#5064, flashinfer-ai/flashinfer#1143
- nvidia-cuda-runtime 13.0.96: holds lib/libcudart.so.13 and lib/libcudart_static.a, no lib64, no libcudart.so
- flashinfer 0.7.2.post1, jit/cpp_ext.py: -L$cuda_home/lib64 -L$cuda_home/lib64/stubs -lcudart -lcuda
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Manual,
    NotApplicable,
    Remedy,
    Signature,
    at,
    check,
    finding,
    part_evidence,
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

SIGNATURES = [
    Signature(
        pattern=r"\b(ld|ld\.\w+|lld): .*(cannot find|unable to find library) -lcudart\b(?!_)",
        rank="cause",
        example="/usr/bin/ld: cannot find -lcudart: No such file or directory",
        look_alike="/usr/bin/ld: cannot find -lcudart_static: No such file or directory",
        source="flashinfer 0.7.2.post1 with CUDA_HOME at the wheels of CUDA 13.0; flashinfer-ai/flashinfer#5064",
        versions="flashinfer 0.2 to 0.7, torch extensions, tvm-ffi, sglang JIT",
    ),
]


@check("toolkit.cudart-unlinkable")
def cudart_unlinkable(case: Case) -> Iterator[Finding | CannotTell]:
    if not case.toolkits:
        raise NotApplicable("nothing installed uses a toolkit that has an nvcc, and none is named")
    for failure in link_failures(case, "cudart"):
        yield failure if isinstance(failure, CannotTell) else _unlinkable(failure)


def _unlinkable(failure: LinkFailure) -> Finding:
    wanted = f"{failure.home}/lib64/libcudart.so"
    library = failure.toolkit.part("libcudart")
    evidence: list[Evidence] = [*linker_evidence(failure), at("does not exist", wanted)]
    if library is not None:
        evidence.append(part_evidence(library))
    message = f"{failure.who} does not find libcudart.so: {_cause(failure, wanted)}"
    return finding(failure.severity, failure.home, message, evidence, _remedies(failure))


def _cause(failure: LinkFailure, wanted: str) -> str:
    library = failure.toolkit.part("libcudart")
    if failure.behind_wrapper:
        return f"the linker is sent to {failure.home}/lib64, while the compiler comes from {failure.tree}"
    if library is None:
        return f"{failure.tree} holds no libcudart at all"
    if library.path.startswith(f"{failure.tree}/lib/") and not _has(failure, "lib64/"):
        return f"the library is {library.path}, and the linker looks for {wanted}"
    return f"{library.path} has a version in its name, and the linker wants {wanted}"


def _remedies(failure: LinkFailure) -> list[Remedy]:
    library = failure.toolkit.part("libcudart")
    first = take_real_home(failure)
    if first:
        return first
    if package := package_with(failure.toolkit, apt="cuda-cudart-dev", conda="cuda-cudart-dev"):
        return [*repairs(failure), Manual("Install the development package of the CUDA runtime", package)]
    if library is None:
        return repairs(failure)
    text = "Let the linker find the library under the name it asks for; nothing in the toolkit is touched"
    by_hand = on_library_path(text, failure.toolkit, link_command(library.path, "libcudart.so"))
    return [*repairs(failure), by_hand]


def _has(failure: LinkFailure, start: str) -> bool:
    return any(name.startswith(start) for name in failure.toolkit.link_names)

"""glibc's math.h and this toolkit's headers declare the same functions differently

## What it finds
A toolkit whose `crt/math_functions.h` does not adapt to the C library of this machine: glibc 2.41 and later declare
`sinpi` and `cospi`, glibc 2.42 and later `rsqrt`, each `noexcept` where the toolkit's header says otherwise.

## Why it matters
Every `.cu` file includes both headers, so nothing compiles: `exception specification is incompatible with that of
previous function "cospi"`. Debian 13, Ubuntu 25.04 and Fedora 42 are new enough to meet it.

## How it is found
glibc's version is the host's. Whether the toolkit's header has the guard is read from the header, not concluded from
the release. Compilers of conda bring a glibc of their own, older than either; with one of those the check says that
it cannot tell.

## Remedy
Take a toolkit whose headers adapt: 13.0 or later for glibc 2.41. Do not patch the header: it belongs to a package, and
the same file serves every other build.

## Sources
- NVIDIA/cuda-samples#378, opencv/opencv#27111, NVIDIA/nccl#1700: CUDA 12.8 and 12.9 with glibc 2.41
- ggml-org/llama.cpp#17615 (13.0.88) and #19100 (13.1) with glibc 2.42
- crt/math_functions.h of 12.8.93, 12.9.86 (no guard), 13.0.88 (sinpi, cospi), 13.5.37 (rsqrt too)
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Known,
    NotApplicable,
    Release,
    Remedy,
    Severity,
    Signature,
    Unknown,
    Use,
    at,
    check,
    fact_evidence,
    finding,
    part_evidence,
)
from sm120kit.diagnosis.host_compilers import chosen_compilers
from sm120kit.diagnosis.remedies import install_toolkit
from sm120kit.snapshot.types.toolkits import GlibcGuards

SIGNATURES = [
    Signature(
        pattern=r"error: exception specification is incompatible with that of previous function "
        r"\"(sinpi|cospi|rsqrt)f?\"",
        rank="cause",
        example="/usr/include/x86_64-linux-gnu/bits/mathcalls.h(79): error: exception specification is incompatible "
        'with that of previous function "cospi" (declared at line 2601 of math_functions.h)',
        look_alike='error: exception specification is incompatible with that of previous function "swap"',
        source="NVIDIA/cuda-samples#378 (CUDA 12.9, Ubuntu 25.04); ggml-org/llama.cpp#17615 for rsqrt",
        versions="CUDA up to 12.9 with glibc 2.41 and later; CUDA 13.0 and 13.1 with glibc 2.42",
    ),
]

_PI_FUNCTIONS = Release(2, 41)
_RSQRT = Release(2, 42)


@check("toolkit.glibc-clash")
def glibc_clash(case: Case) -> Iterator[Finding | CannotTell]:
    if not case.toolkits:
        raise NotApplicable("nothing installed uses a toolkit that has an nvcc, and none is named")
    glibc = case.snapshot.host.glibc
    if isinstance(glibc, Unknown):
        yield CannotTell("glibc", f"the version of the C library is not known: {glibc.reason}")
        return
    version = Release.of(glibc)
    if version is None or version < _PI_FUNCTIONS:
        return
    for use in case.toolkits:
        guards = use.toolkit.glibc_guards
        if isinstance(guards, Unknown):
            yield CannotTell(use.toolkit.home, f"whether its headers adapt to glibc is not known: {guards.reason}")
        elif functions := _unguarded(guards.value, version):
            if _own_glibc(case, use):
                yield CannotTell(use.toolkit.home, "its host compiler is conda's, which brings a glibc of its own")
            else:
                yield _clash(use, glibc, version, functions, guards)


def _unguarded(guards: GlibcGuards, version: Release) -> list[str]:
    functions = [] if guards.sinpi_cospi else ["sinpi", "cospi"]
    return [*functions, "rsqrt"] if version >= _RSQRT and not guards.rsqrt else functions


def _own_glibc(case: Case, use: Use) -> bool:
    """Whether the headers of the C library come with the compiler: conda's have a sysroot."""
    for chosen in chosen_compilers(case, use):
        path = chosen.compiler.path if chosen.compiler else None
        if "-conda-linux-gnu-" in f"{chosen.command} {path.value if isinstance(path, Known) else ''}":
            return True
    return False


def _clash(use: Use, glibc: Known[str], version: Release, functions: list[str], guards: Known[GlibcGuards]) -> Finding:
    toolkit = use.toolkit
    nvcc = toolkit.part("nvcc")
    evidence: list[Evidence] = [
        fact_evidence("glibc", glibc),
        at(f"no guard for {' and '.join(functions)}", guards.source.where, guards.source.owner, guards.source.line),
    ]
    if nvcc:
        evidence.append(part_evidence(nvcc))
    return finding(
        use.limit(Severity.ERROR),
        toolkit.home,
        f"the headers of {toolkit.home} declare {' and '.join(functions)} otherwise than glibc {version} does: no .cu "
        "file will compile",
        evidence,
        _remedies(use, version),
    )


def _remedies(use: Use, version: Release) -> list[Remedy]:
    return [install_toolkit(Release(13, 5) if version >= _RSQRT else Release(13, 0), use.toolkit.layout)]

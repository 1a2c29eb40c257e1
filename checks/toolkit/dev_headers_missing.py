"""Headers of CUDA's libraries are missing: some kernels of an installed package cannot be compiled

## What it finds
A toolkit without headers such as `cublasLt.h` or `curand.h`, taken by something whose own sources include them. The
finding names the modules that will not compile.

## Why it matters
A compiler with CUDA's core headers builds most kernels. FlashInfer's `norm` includes `cublasLt.h` though it calls
nothing of it, `sampling` includes `curand.h`: the server starts, loads its weights, and stops at the first request or
during graph capture.

## How it is found
The headers that the toolkit's include folders hold are compared with a table of what each module includes, made by
preprocessing FlashInfer's sources. Modules for other GPUs than those of this machine, or than those named, are left
out. Where variables such as CPATH or FLASHINFER_EXTRA_CUDAFLAGS add include folders, it cannot be told.

## Remedy
Install the libraries' packages of the same CUDA release, beside the compiler.

## Sources
- flashinfer-ai/flashinfer#4410, mudler/LocalAI#10257
- flashinfer 0.6.7.post2 and 0.7.2.post1: data/csrc and data/include, preprocessed
- checks/tables/module_headers.toml, checks/tables/development_headers.toml
"""

import re
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Manual,
    NotApplicable,
    Release,
    Remedy,
    Severity,
    Signature,
    Use,
    at,
    check,
    finding,
    read_table,
)
from sm120kit.diagnosis.alternatives import source_of
from sm120kit.diagnosis.development_headers import DevelopmentHeader, ModuleHeaders, modules_of
from sm120kit.diagnosis.host_compilers import flags_of
from sm120kit.diagnosis.releases import part_release
from sm120kit.diagnosis.remedies import compose_view, toolkit_release
from sm120kit.snapshot.types.toolkits import Toolkit

SIGNATURES = [
    Signature(
        pattern=r"fatal error: (cublas\w*|curand\w*|cusparse|cusolver\w*|cufft\w*|nvrtc|nvJitLink)\.h: "
        r"No such file or directory",
        rank="cause",
        example="flashinfer/data/include/flashinfer/trtllm/common/cudaUtils.h:25:10: fatal error: cublasLt.h: No such "
        "file or directory",
        look_alike="app.cpp:3:10: fatal error: cublas_wrapper.hpp: No such file or directory",
        source="flashinfer 0.7.2.post1, module norm, without nvidia-cublas; flashinfer-ai/flashinfer#4410",
        versions="flashinfer 0.6 and 0.7, torch extensions",
    ),
]

_ADDING_FOLDERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
_ADDING_FLAGS = ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "FLASHINFER_EXTRA_CUDAFLAGS", "FLASHINFER_EXTRA_CFLAGS")


@check("toolkit.dev-headers-missing")
def dev_headers_missing(case: Case) -> Iterator[Finding | CannotTell]:
    uses = [use for use in case.toolkits if use.consumers]
    if not uses:
        raise NotApplicable("nothing installed uses a toolkit that has an nvcc")
    for use in uses:
        blocked: list[tuple[ModuleHeaders, list[str]]] = []
        severity = Severity.NOTE
        for consumer in use.consumers:
            for row in modules_of(consumer, case.compute_capabilities):
                missing = [header for header in row.headers if header not in use.toolkit.headers]
                if missing and case.prebuilt_by(consumer) is None:
                    blocked.append((row, missing))
                    severity = Severity.WARNING if case.must_compile(consumer) else severity
        if not blocked:
            continue
        if added := _added_folders(case):
            names = ", ".join(sorted({header for _, headers in blocked for header in headers}))
            reason = f"{names} may lie in the folders that {added} adds, which were not looked into"
            yield CannotTell(use.toolkit.home, reason)
        else:
            yield _missing(case, use, severity, blocked)


def _added_folders(case: Case) -> str:
    """The variable that adds include folders of its own; empty where none does."""
    for name in _ADDING_FOLDERS:
        if case.snapshot.environment.get(name):
            return name
    for name in _ADDING_FLAGS:
        if any(re.match(r"-I|-?-isystem|--include-path", flag) for flag in flags_of(case, name)):
            return name
    return ""


def _missing(case: Case, use: Use, severity: Severity, blocked: list[tuple[ModuleHeaders, list[str]]]) -> Finding:
    toolkit = use.toolkit
    headers = list(dict.fromkeys(header for _, missing in blocked for header in missing))
    modules: dict[str, list[str]] = {}
    for row, _ in blocked:
        modules.setdefault(row.consumer, []).append(row.module)
    evidence = [
        *(at(f"no {', '.join(headers)}", folder) for folder in toolkit.include_dirs[:1]),
        *(at(f"{row.consumer} {row.module} includes {', '.join(missing)}", row.source) for row, missing in blocked),
    ]
    named = "; ".join(f"{consumer}: {', '.join(dict.fromkeys(names))}" for consumer, names in modules.items())
    message = f"{toolkit.home} lacks {', '.join(headers)}, without which these modules will not compile: {named}"
    source = source_of(case, toolkit)
    if source is not toolkit and set(headers) <= set(source.headers):
        anew = compose_view(toolkit, f"Compose the toolkit of links anew: {source.home} has these headers by now")
        return finding(use.limit(severity), toolkit.home, message, evidence, [anew])
    return finding(use.limit(severity), toolkit.home, message, evidence, [_packages(source, headers)])


def _packages(toolkit: Toolkit, headers: list[str]) -> Remedy:
    rows = [row for row in read_table("development_headers", DevelopmentHeader) if row.header in headers]
    release = part_release(toolkit, "nvcc")
    text = "Install the headers of these libraries, of the compiler's release"
    known = toolkit_release(release)
    if toolkit.layout == "wheel-cu13" and known and known.cuda_toolkit:
        extras = ",".join(dict.fromkeys(row.extra for row in rows))
        return Manual(text, (f'pip install "cuda-toolkit[{extras}]=={known.cuda_toolkit}"',))
    if toolkit.layout == "conda" and release:
        names = " ".join(dict.fromkeys(row.conda for row in rows))
        return Manual(text, (f"conda install -c nvidia/label/cuda-{release}.0 {names}",))
    if toolkit.layout == "system" and release:
        names = " ".join(dict.fromkeys(_apt(row, release) for row in rows))
        return Manual(text, (f"apt-get install {names}",))
    wheels = ", ".join(dict.fromkeys(row.wheel for row in rows))
    return Manual(f"{text}: on PyPI they come with {wheels}")


def _apt(row: DevelopmentHeader, release: Release) -> str:
    return f"{row.apt}-{release.major}-{release.minor}"

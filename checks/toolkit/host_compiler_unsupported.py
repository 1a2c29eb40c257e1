"""The host compiler is newer than this toolkit admits: nvcc stops with "unsupported GNU version"

## What it finds
A toolkit together with the gcc or clang that nvcc would call, where that compiler's major version is above the limit
in the toolkit's `crt/host_config.h`.

## Why it matters
The header stops every compilation with `#error -- unsupported GNU version! gcc versions later than 14 are not
supported!`. A distribution's newest gcc is usually ahead of CUDA.

## How it is found
The limits are read from the toolkit's own header. nvcc calls `-ccbin`, which FlashInfer and torch take from CC; else
NVCC_CCBIN; else `gcc` on PATH. With `-allow-unsupported-compiler` in force it is a warning: that flag silences the
header, and compilation may still fail in the compiler's own headers.

## Remedy
Name an older compiler: by CC for FlashInfer and torch, by NVCC_CCBIN for everything else that calls nvcc.

## Sources
- crt/host_config.h of nvidia-cuda-nvcc-cu12 12.8.93 (gcc 14, clang 19), nvidia-cuda-crt 13.0.88 (15, 20) and 13.5.37
  (16, 21)
- NVlabs/instant-ngp#1562
- flashinfer 0.7.2.post1, jit/cpp_ext.py; torch 2.13.0, utils/cpp_extension.py: -ccbin from CC
"""

import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Known,
    Manual,
    NotApplicable,
    Remedy,
    Severity,
    Signature,
    Unknown,
    Use,
    at,
    check,
    fact_evidence,
    finding,
)
from sm120kit.diagnosis.host_compilers import (
    ChosenCompiler,
    chosen_compilers,
    flags_of,
    limit_of,
    major_of,
    older_compilers,
)
from sm120kit.snapshot.types.toolkits import HostCompilerLimits

SIGNATURES = [
    Signature(
        pattern=r"#error -- unsupported (GNU|clang|Grace clang) version! ",
        rank="cause",
        example="crt/host_config.h:137:2: error: #error -- unsupported GNU version! gcc versions later than 15 are not "
        "supported! The nvcc flag '-allow-unsupported-compiler' can be used to override this version check",
        look_alike="nvcc warning : The -std=c++20 flag is not supported with the configured host compiler.",
        source="nvcc 13.0.88 with a gcc that calls itself 16; NVlabs/instant-ngp#1562",
        versions="all CUDA releases, each with its own limit",
    ),
]

_ALLOW = ("-allow-unsupported-compiler", "--allow-unsupported-compiler")


@check("toolkit.host-compiler-unsupported")
def host_compiler_unsupported(case: Case) -> Iterator[Finding | CannotTell]:
    if not case.toolkits:
        raise NotApplicable("nothing installed uses a toolkit that has an nvcc, and none is named")
    for use in case.toolkits:
        limits = use.toolkit.host_compiler_limits
        if isinstance(limits, Unknown):
            yield CannotTell(use.toolkit.home, f"the newest compiler it admits is not known: {limits.reason}")
            continue
        too_new: list[ChosenCompiler] = []
        for chosen in chosen_compilers(case, use):
            reason = _why_unknown(chosen, limits.value)
            if reason:
                yield CannotTell(use.toolkit.home, reason)
            elif chosen.compiler and 0 < limit_of(limits.value, chosen.compiler.kind) < major_of(chosen.compiler):
                too_new.append(chosen)
        if too_new:
            yield _too_new(case, use, limits, too_new)


def _why_unknown(chosen: ChosenCompiler, limits: HostCompilerLimits) -> str:
    if chosen.compiler is None:
        return f"no compiler {chosen.command} was found ({chosen.because})"
    if chosen.compiler.kind == "other":
        return f"{chosen.command} ({chosen.because}) is neither gcc nor clang by its own words"
    if limit_of(limits, chosen.compiler.kind) and not major_of(chosen.compiler):
        return f"the version of {chosen.command} ({chosen.because}) is not known"
    return ""


def _too_new(case: Case, use: Use, limits: Known[HostCompilerLimits], too_new: list[ChosenCompiler]) -> Finding:
    toolkit = use.toolkit
    evidence: list[Evidence] = []
    names: list[str] = []
    kinds: dict[str, int] = {}
    for chosen in too_new:
        compiler = chosen.compiler
        if compiler is None:
            continue
        who = f", for {' and '.join(chosen.consumers)}" if chosen.consumers else ""
        evidence.append(fact_evidence(f"{compiler.kind} ({chosen.because}{who})", compiler.version))
        names.append(f"{chosen.command} is {compiler.kind} {major_of(compiler)}")
        kinds[compiler.kind] = limit_of(limits.value, compiler.kind)
    limit = " and ".join(f"{kind} up to {newest}" for kind, newest in kinds.items())
    evidence.append(at(f"admits {limit}", limits.source.where, limits.source.owner, limits.source.line))
    allowed = [
        name
        for name in ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "FLASHINFER_EXTRA_CUDAFLAGS")
        if any(flag in _ALLOW for flag in flags_of(case, name))
    ]
    severity = Severity.ERROR
    message = f"{toolkit.home} admits {limit}, and {', '.join(names)}: nvcc will refuse to compile"
    if allowed:
        severity = Severity.WARNING
        message = (
            f"{toolkit.home} admits {limit}, and {', '.join(names)}: -allow-unsupported-compiler silences the refusal, "
            "and compilation may still fail in the compiler's own headers"
        )
        evidence += [at(case.snapshot.environment[name], name) for name in allowed]
    return finding(use.limit(severity), toolkit.home, message, evidence, _remedies(case, limits.value))


def _remedies(case: Case, limits: HostCompilerLimits) -> list[Remedy]:
    older = next(older_compilers(case, limits), None)
    if older is not None and isinstance(older.path, Known):
        path = shlex.quote(older.path.value)
        text = f"Use {older.kind} {major_of(older)}, which is on this machine"
        return [Manual(text, (f"export CC={path} NVCC_CCBIN={path}",))]
    host = case.snapshot.host.distribution
    newest = f"gcc-{limits.gcc}"
    text = f"Install gcc {limits.gcc} (or an older one) beside the newer compiler and name it by CC and NVCC_CCBIN"
    if isinstance(host, Known) and any(name in host.value for name in ("Ubuntu", "Debian")):
        commands = (f"apt-get install {newest} {newest.replace('cc', '++')}", f"export CC={newest} NVCC_CCBIN={newest}")
        return [Manual(text, commands)]
    return [Manual(text)]

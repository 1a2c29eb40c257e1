"""Parts of one toolkit come from CUDA releases that do not work together

## What it finds
One toolkit whose compiler, crt headers, runtime headers, cicc or ptxas are of different releases in a combination that
stops every build, or every build that includes `cuda/std`, `cub` or `thrust`. All failing pairs are named at once,
also those that today hide behind another one.

## Why it matters
`pip install nvidia-cuda-nvcc==13.0.88` does not pin its companions, so pip brings the newest cicc, crt and headers
beside an older nvcc. The messages that follow name none of this:

- `macro "__cudaLaunch" passed 2 arguments, but takes just 1`: cicc 13.0 against crt headers of another release, or the
  other way round. Only release 13.0 has the second argument.
- `Unsupported .version 9.5; current version is '9.0'`: cicc is newer than ptxas.
- `invalid option: --simt-only`: nvcc 13.3 or later drives a cicc of 13.1 or earlier.
- `CUDA compiler and CUDA toolkit headers are incompatible`: CCCL 3.0 and later compares CUDART_VERSION with the
  compiler, major and minor.

## How it is found
The release of each part is that of the wheel which owns it, or is read from the file; the crt headers are told by the
arguments of `__cudaLaunch` itself. Only parts that one nvcc run would put together are compared. Where headers and
compiler differ, the CCCL that the package would read decides: its own, if it brings one. Where no CCCL is there at
all, the pair counts as failing: today's build stops for want of CCCL, and stops for the pair once it is installed.
Skew that compiles is a note; a CCCL of another release alone is none. In a system toolkit, which one installer fills
with one release, cicc and ptxas count as of nvcc's release unless a file says otherwise.

There is one finding per toolkit, about its folder: one coherent set of packages cures all pairs together, and the
finding stays the same while single packages change.

## Remedy
Install one coherent set, preferably of the release that torch was built with, because torch pins the runtime headers.

## Sources
- nvcc 13.0.88, 13.2.78 and 13.5.37 run over each other's crt, cicc and headers, and over cicc 13.1.115
- METADATA of nvidia-cuda-nvcc 13.0.88, 13.2.78, 13.5.37; sgl-project/sglang#29425; vllm-project/vllm#57932
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
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
    part_evidence,
)
from sm120kit.diagnosis.alternatives import other_toolkits, source_of, torch_release
from sm120kit.diagnosis.compatibility import Verdict, judge
from sm120kit.diagnosis.releases import part_release
from sm120kit.diagnosis.remedies import compose_view, install_toolkit

SIGNATURES = [
    Signature(
        pattern=r'error: macro "__cudaLaunch" (?:passed 2 arguments, but takes just|requires 2 arguments, but only) 1',
        rank="cause",
        example='x.cudafe1.stub.c:13:184: error: macro "__cudaLaunch" requires 2 arguments, but only 1 given',
        look_alike='x.cpp:3:9: error: macro "CHECK" passed 2 arguments, but takes just 1',
        source="nvcc 13.0.88 with crt 13.5.37; nvcc 13.2.78 with crt 13.0.88, and with cicc 13.0.88",
        versions="13.0 against any other release",
    ),
    Signature(
        pattern=r"fatal\s+: Unsupported \.version \d+\.\d+; current version is '\d+\.\d+'",
        rank="cause",
        example="ptxas x.compute_120.ptx, line 9; fatal   : Unsupported .version 9.5; current version is '9.0'",
        look_alike="ptxas fatal   : Value 'sm_120a' is not defined for option 'gpu-name'",
        source="nvcc 13.0.88 with cicc 13.5.37",
        versions="a cicc newer than ptxas; also PTX of a newer compiler given to a driver's or Triton's ptxas",
    ),
    Signature(
        pattern=r"Command-line error: invalid option: --simt-only",
        rank="cause",
        example="Command-line error: invalid option: --simt-only",
        look_alike="Command-line error: invalid option: --simd",
        source="nvcc 13.5.37 with cicc 13.0.88 and with cicc 13.1.115",
        versions="nvcc 13.3 and later with cicc 13.1 and earlier",
    ),
    Signature(
        pattern=r'error: #error "?CUDA compiler and CUDA toolkit headers are incompatible',
        rank="cause",
        example="cuda/std/__cccl/cuda_toolkit.h:41:8: error: #error "
        '"CUDA compiler and CUDA toolkit headers are incompatible, please check your include paths"',
        look_alike="crt/host_config.h:137:2: error: #error -- unsupported GNU version!",
        source="nvcc 13.0.88 with headers 13.2.75 and FlashInfer 0.7.2.post1",
        versions="CCCL 3.0 and later",
    ),
    Signature(
        pattern=r'crt/\w+\.h(?:pp)?\(\d+\): error: identifier "(?P<name>cuda\w+_t)" is undefined',
        rank="cause",
        example='t13/include/crt/device_functions.h(2930): error: identifier "cudaKernel_t" is undefined',
        look_alike='kernels/launch.cu(30): error: identifier "cudaKernel_t" is undefined',
        source="nvcc 13.0.88 with runtime headers of 11.8.89 in front",
        versions="runtime headers of CUDA 11 under a compiler of CUDA 13",
        message="headers of two CUDA releases are read: those of the compiler (crt/) use {name}, which the runtime "
        "headers before them do not have",
    ),
    Signature(
        pattern=r"cuda_(?:bf16|fp16|fp8|fp6|fp4)\.h(?:pp)?\(\d+\): error: "
        r'(?:no instance of overloaded function "__half::__half"|this declaration has no storage class)',
        rank="cause",
        example='include/cuda_bf16.h(5060): error: no instance of overloaded function "__half::__half" matches the '
        "specified type",
        look_alike='cuda_bf16.hpp(383): error: identifier "NV_IF_ELSE_TARGET" is undefined',
        source="nvcc 13.0.88 with cuda_fp16.h of 11.8.89 in front, and with headers of 12.4.127; cupy/cupy#8146",
        message="headers of two CUDA releases are read: cuda_fp16.h, cuda_bf16.h and cuda_fp8.h of one do not fit "
        "those of the other",
    ),
]


@check("toolkit.release-mismatch")
def release_mismatch(case: Case) -> Iterator[Finding | CannotTell]:
    if not case.toolkits:
        raise NotApplicable("nothing installed uses a toolkit that has an nvcc, and none is named")
    for use in case.toolkits:
        verdict = judge(use, case.snapshot.environment)
        if verdict.clashes:
            yield _mismatch(case, use, verdict)
        for reason in verdict.unknown:
            yield CannotTell(use.toolkit.home, reason)


def _mismatch(case: Case, use: Use, verdict: Verdict) -> Finding:
    toolkit = use.toolkit
    nvcc = toolkit.part("nvcc")
    parts = dict.fromkeys([*([nvcc] if nvcc else []), *(part for each in verdict.clashes for part in each.parts)])
    evidence: list[Evidence] = [part_evidence(part) for part in parts]
    seen = dict.fromkeys(cccl for each in verdict.clashes for cccl in each.cccl)
    evidence += [fact_evidence("CCCL", cccl.version) for cccl in seen]
    if any("crt" in (part.name for part in each.parts) for each in verdict.clashes if each.fails):
        evidence.append(_launch_evidence(use))
    wanted = torch_release(case) or part_release(toolkit, "runtime-headers") or part_release(toolkit, "nvcc")
    remedies: list[Remedy] = [install_toolkit(wanted, source_of(case, toolkit).layout)]
    if verdict.fails:
        view = compose_view(toolkit, "Compose a toolkit of links of one release, if the parts are on disk")
        remedies = [*other_toolkits(case, [toolkit.home], [view]), *remedies]
    return finding(
        use.limit(Severity.ERROR if verdict.fails else Severity.NOTE),
        toolkit.home,
        f"the toolkit {toolkit.home} ({use.who}) mixes CUDA releases: "
        + "; ".join(each.sentence for each in verdict.clashes),
        evidence,
        remedies,
    )


def _launch_evidence(use: Use) -> Evidence:
    told, crt = use.toolkit.crt_launch_arguments, use.toolkit.part("crt")
    if isinstance(told, Unknown):
        return at(f"arguments of __cudaLaunch unknown: {told.reason}", crt.path if crt else "")
    count = "1 argument" if told.value == 1 else f"{told.value} arguments"
    return at(f"__cudaLaunch takes {count}", told.source.where, told.source.owner, told.source.line)

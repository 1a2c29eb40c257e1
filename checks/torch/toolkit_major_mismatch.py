"""The compiler's CUDA major is not torch's: extensions for torch cannot be built, or load a second CUDA runtime

## What it finds
A toolkit of another CUDA major than torch was built with, taken by something that builds for this torch: torch's own
extension builder, or the JIT of FlashInfer, SGLang and tvm-ffi, whose modules are loaded into torch's process.

## Why it matters
`torch.utils.cpp_extension` refuses to build: "The detected CUDA version mismatches the version that was used to
compile PyTorch". What a JIT compiles asks for the other major's libcudart (`libcudart.so.12` beside torch's
`libcudart.so.13`): where the loader does not find it, importing the module fails; where it does, two CUDA runtimes
live in one process.

## How it is found
Majors are compared, nothing more: a toolkit 12.8 beside a torch for 12.6, or 13.2 beside 13.0, is healthy. It is an
error only where the toolkit is named by `--cuda-home`, since extensions cannot be built with it; else a warning.

## Remedy
Name a toolkit of torch's major by CUDA_HOME, or install one in the environment.

## Sources
- torch 2.13.0, utils/cpp_extension.py: _check_cuda_version
- pytorch/pytorch#160293, Dao-AILab/flash-attention#219
- flashinfer 0.7.2.post1, tvm-ffi 0.1.11: modules are linked with -lcudart of the toolkit taken
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    NotApplicable,
    Release,
    Remedy,
    Severity,
    Signature,
    Unknown,
    Use,
    at,
    check,
    finding,
    part_evidence,
)
from sm120kit.diagnosis.alternatives import other_toolkits, site_packages
from sm120kit.diagnosis.releases import part_release
from sm120kit.diagnosis.remedies import install_toolkit
from sm120kit.snapshot.types.packages import TorchBuild
from sm120kit.snapshot.types.toolkits import Part, Toolkit

SIGNATURES = [
    Signature(
        pattern=r"The detected CUDA version \((?:[\d.]+|%s)\) mismatches the version that was used to compile",
        rank="cause",
        example="RuntimeError: ('The detected CUDA version (%s) mismatches the version that was used to compilePyTorch "
        "(%s). Please make sure to use the same CUDA versions.', '12.8', '13.0')",
        look_alike="The detected CUDA version (13.2) has a minor version mismatch with the version that was used to "
        "compile PyTorch (13.0). Most likely this shouldn't be a problem.",
        source="torch 2.13.0, utils/cpp_extension.py; pytorch/pytorch#160293",
    ),
]

_BUILDS_FOR_TORCH = ("torch.utils.cpp_extension", "flashinfer", "sglang", "tvm-ffi")


@check("torch.toolkit-major-mismatch")
def toolkit_major_mismatch(case: Case) -> Iterator[Finding | CannotTell]:
    torch = case.snapshot.torch
    if isinstance(torch, Unknown):
        if case.distribution("torch") is None:
            raise NotApplicable("torch is not installed")
        yield CannotTell("torch", torch.reason)
        return
    build = torch.value
    own = Release.parse(build.cuda)
    if own is None:
        raise NotApplicable(f"torch {build.version} is a build without CUDA")
    judged = [use for use in case.toolkits if use.named or _builders(use)]
    if not judged:
        raise NotApplicable("nothing that builds for torch takes a toolkit, and none is named")
    for use in judged:
        nvcc, release = use.toolkit.part("nvcc"), part_release(use.toolkit, "nvcc")
        if nvcc is None or release is None:
            yield CannotTell(use.toolkit.home, "the release of its nvcc is not known")
        elif release.major != own.major:
            yield _mismatch(case, use, build, nvcc, release, own)


def _builders(use: Use) -> list[str]:
    return [consumer.name for consumer in use.consumers if consumer.name in _BUILDS_FOR_TORCH]


def _mismatch(case: Case, use: Use, build: TorchBuild, nvcc: Part, release: Release, own: Release) -> Finding:
    toolkit = use.toolkit
    builders = _builders(use)
    effects = []
    if use.named or "torch.utils.cpp_extension" in builders:
        effects.append("torch.utils.cpp_extension refuses to build with it")
    if jits := [name for name in builders if name != "torch.utils.cpp_extension"]:
        effects.append(f"modules of {' and '.join(jits)} will ask for libcudart.so.{release.major}")
    return finding(
        Severity.ERROR if use.named else use.limit(Severity.WARNING),
        toolkit.home,
        f"{toolkit.home} is CUDA {release}, torch {build.version} is built with {build.cuda}: {', and '.join(effects)}",
        [part_evidence(nvcc), at(f"torch {build.version}, CUDA {build.cuda}", build.path)],
        _remedies(case, toolkit, own),
    )


def _remedies(case: Case, toolkit: Toolkit, own: Release) -> list[Remedy]:
    return [*other_toolkits(case, [toolkit.home]), install_toolkit(own, site_packages=site_packages(case))]

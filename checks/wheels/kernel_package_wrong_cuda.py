"""A kernel package needs libraries that are not here: it was built for another CUDA major than the one installed

## What it finds
A package of compiled kernels (sglang-kernel, sgl-kernel, DeepGEMM, vLLM, flash-attn) whose shared objects ask for CUDA
libraries, or for libnuma, that neither NVIDIA's wheels, torch nor the loader's path hold.

## Why it matters
Importing the package fails, and with it the server: `libnvrtc.so.12: cannot open shared object file` beside a torch for
CUDA 13, under "Could not load any common_ops library!". Up to 0.4.1 the kernels of SGLang are built for CUDA 12, from
0.4.2 on for CUDA 13; pip lets either be installed beside any torch.

## How it is found
The names that each library asks for (DT_NEEDED) are read from the file and looked for where the loader would look, and
in the folders of NVIDIA's wheels, which torch loads first. That SM12x takes the files of `sm100/` is right: that folder
serves every GPU but compute capability 9.0, whose own is `sm90/`. The driver's libcuda is the matter of other checks.

## Remedy
Install the kernel package that belongs to the installed SGLang and to torch's CUDA major. For libnuma, install the
system's package of it.

## Sources
- sgl-kernel 0.3.21 and sglang-kernel 0.4.10, shared objects and load_utils.py
- sgl-project/sglang#29646 (compute capability 12.0), #25069, #18203, #16052, #10951; vllm-project/vllm#52300
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
    Severity,
    Signature,
    Unknown,
    at,
    check,
    finding,
)
from sm120kit.diagnosis.alternatives import torch_release
from sm120kit.diagnosis.serving import is_loaded, listed
from sm120kit.diagnosis.wheels import has_cuda_torch, is_cuda_library, kernel_remedy, kernel_wheel
from sm120kit.snapshot.types.packages import SharedObject

SIGNATURES = [
    Signature(
        pattern=r"lib(?:nvrtc|cudart|cublas|cublasLt|numa)\.so\.\d+: cannot open shared object file",
        rank="cause",
        example="ImportError: libnvrtc.so.12: cannot open shared object file: No such file or directory",
        look_alike="ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
        source="sgl-project/sglang#29646, #25069; vllm-project/vllm#52300",
        versions="sgl-kernel up to 0.3.21 and sglang-kernel 0.4.1 beside torch for CUDA 13; newer ones beside CUDA 12",
    ),
    Signature(
        pattern=r"\[sgl_kernel\] CRITICAL: Could not load any common_ops library!",
        rank="wrapper",
        example="[sgl_kernel] CRITICAL: Could not load any common_ops library!",
        look_alike="[sgl_kernel] Successfully loaded common_ops library",
        source="sglang-kernel 0.4.10, sgl_kernel/load_utils.py",
    ),
]

_PACKAGES = ("sglang-kernel", "sgl-kernel", "sgl-deep-gemm", "deep-gemm", "vllm", "flash-attn")


@check("wheels.kernel-package-wrong-cuda")
def kernel_package_wrong_cuda(case: Case) -> Iterator[Finding | CannotTell]:
    installed = [f"{each.name} {each.version}" for name in _PACKAGES if (each := case.distribution(name))]
    if not installed:
        raise NotApplicable("no package of compiled kernels is installed")
    if not has_cuda_torch(case):
        raise NotApplicable("no torch with CUDA is installed, so no kernel package can be loaded")
    for name in installed:
        objects = [each for each in case.snapshot.shared_objects if each.distribution == name and is_loaded(case, each)]
        if not objects:
            yield CannotTell(name, f"none of the shared objects of {name} that are known was found beside it")
        for library in objects:
            if isinstance(library.needed, Unknown):
                yield CannotTell(library.path, library.needed.reason)
        broken = [library for library in objects if _lacking(library)]
        if broken:
            yield _wrong(case, name, broken)


def _lacking(library: SharedObject) -> list[str]:
    return [name for name in library.missing if is_cuda_library(name) or name == "libnuma.so.1"]


def _wrong(case: Case, name: str, broken: list[SharedObject]) -> Finding:
    lacking = listed(soname for each in broken for soname in _lacking(each))
    torch = torch_release(case)
    always = any(each.role != "on-demand" for each in broken)
    built = kernel_wheel(*name.split(" ", 1))
    evidence: list[Evidence] = [
        at(f"needs {listed(_lacking(each))}, found nowhere", each.path, name) for each in broken
    ]
    if built:
        evidence.append(at(f"{name} is built for CUDA {built.cuda}", built.source))
    if torch:
        evidence.append(at(f"torch is built with CUDA {torch}", "torch/version.py"))
    effect = "importing it fails" if always else "what needs these kernels fails when it is first used"
    return finding(
        Severity.ERROR if always else Severity.WARNING,
        name,
        f"{name} asks for {lacking}, which is not here: {effect}",
        evidence,
        _remedies(case, name, broken),
    )


def _remedies(case: Case, name: str, broken: list[SharedObject]) -> list[Remedy]:
    lacking = {soname for each in broken for soname in _lacking(each)}
    remedies: list[Remedy] = []
    if "libnuma.so.1" in lacking:
        remedies.append(Manual("Install the system's libnuma", ("apt-get install libnuma1",)))
    if lacking - {"libnuma.so.1"}:
        of_sglang = name.startswith(("sglang-kernel", "sgl-"))
        text = (
            "Install the build of this package that is made for torch's CUDA release, in the version that belongs to it"
        )
        remedies.append(kernel_remedy(case) if of_sglang else Manual(text))
    return remedies

"""This torch has no machine code for the GPU: "no kernel image is available for execution on the device"

## What it finds
A torch wheel that was not built for the compute capability of a GPU that is there or named.

## Why it matters
Torch imports, says that CUDA is available, and fails at the first operation on the GPU. Blackwell needs wheels built
with CUDA 12.8 or later: 2.7.0 and 2.7.1 from PyPI are built with 12.6, from 2.8.0 on all of PyPI's are new enough.

## How it is found
The version, the CUDA release and the machine are looked up in a table made from the wheels themselves and from
PyTorch's release matrix. Code for 12.0 runs on 12.1 too. Builds from source, NVIDIA's containers and versions that
the table does not know give no verdict.

## Remedy
The same torch from another of PyTorch's indexes where there is one; else a newer torch, with the SGLang, flashinfer
and vision packages that belong to it.

## Sources
- checks/tables/torch_wheels.toml: cuobjdump --list-elf of the wheels; pytorch/pytorch RELEASE.md
- vllm-project/vllm#20193, sgl-project/sglang#7249, deepbeepmeep/Wan2GP#376
"""

from collections.abc import Iterator, Sequence

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    LogRemedy,
    Manual,
    NotApplicable,
    Remedy,
    Signature,
    Unknown,
    at,
    check,
    error,
)
from sm120kit.diagnosis.torch_wheels import TorchWheel, official_version, wheel_of, wheels_for
from sm120kit.snapshot.types.packages import TorchBuild

_NEWER = LogRemedy(
    "If it is torch: take the same version from PyTorch's index of CUDA 12.8 (cu128), or of 13.0 (cu130) with a "
    "driver from "
    "580 on; where it is not there, a newer one with the SGLang that pins it",
    (
        "python3 -m pip install --force-reinstall torch[[=={torch_version}]] --index-url "
        "https://download.pytorch.org/whl/cu130",
    ),
)

SIGNATURES = [
    Signature(
        pattern=r"with CUDA capability (?P<target>sm_\d+) is not compatible with the current PyTorch installation",
        rank="cause",
        example="NVIDIA RTX PRO 6000 Blackwell Server Edition with CUDA capability sm_120 is not compatible with the "
        "current PyTorch installation.",
        look_alike="The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.",
        source="torch/cuda/__init__.py; vllm-project/vllm#20193",
        versions="torch up to 2.7.1 from PyPI",
        message="This torch has no machine code for {target}",
        remedies=(_NEWER,),
    ),
    Signature(
        pattern=r"no kernel image is available for execution on the device",
        rank="cause",
        example="torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device",
        look_alike="CUDA error: an illegal memory access was encountered",
        source="vllm-project/vllm#20193, sgl-project/sglang#7249, #38515",
        versions="torch up to 2.7.1 from PyPI; any extension built without the GPU's architecture",
        message="A kernel was called that has no machine code for this GPU: one of torch, or of an extension such as "
        "sgl-kernel, flashinfer or flash-attn. The line alone does not tell which",
        remedies=(
            LogRemedy(
                "See which: the last frames of the traceback name the module, and the doctor reads what torch and the "
                "kernel wheels hold",
                ("sm120kit doctor --only 'torch.*' --only 'kernels.*' --only 'wheels.*'",),
            ),
            _NEWER,
            LogRemedy(
                "If it is an extension: install the build of it that names this GPU, or build it with the GPU in "
                "this list",
                ("export TORCH_CUDA_ARCH_LIST=12.0",),
            ),
        ),
    ),
]


@check("torch.arch-missing")
def arch_missing(case: Case) -> Iterator[Finding | CannotTell]:
    torch = case.snapshot.torch
    if isinstance(torch, Unknown):
        if case.distribution("torch") is None:
            raise NotApplicable("torch is not installed")
        yield CannotTell("torch", torch.reason)
        return
    build = torch.value
    if not build.cuda:
        raise NotApplicable(f"torch {build.version} is a build without CUDA")
    subject = f"torch {build.version}"
    capabilities, machine = case.compute_capabilities, case.snapshot.host.architecture
    if isinstance(capabilities, Unknown):
        yield CannotTell(subject, f"the GPU is not known: {capabilities.reason}")
    elif isinstance(machine, Unknown):
        yield CannotTell(subject, f"the kind of machine is not known: {machine.reason}")
    else:
        wheel = wheel_of(build, machine.value)
        missing = [each for each in capabilities.value if wheel and not wheel.runs_on(each)]
        if wheel is None:
            yield CannotTell(
                subject, f"which GPUs torch {build.version} for {machine.value} was built for is not known"
            )
        elif missing:
            gpus = at(f"compute capability {' and '.join(missing)}", capabilities.source.where)
            yield error(
                subject,
                f"torch {build.version} has no code for compute capability {' and '.join(missing)}: every operation on "
                "that GPU fails",
                [
                    gpus,
                    at(f"built with CUDA {build.cuda}", build.path),
                    at(f"holds code for {', '.join(wheel.architectures)}", wheel.source),
                ],
                _remedies(build, wheels_for(capabilities.value, machine.value)),
            )


def _remedies(build: TorchBuild, fitting: Sequence[TorchWheel]) -> list[Remedy]:
    version = official_version(build)
    series = version.rpartition(".")[0]
    remedies: list[Remedy] = []
    if same := [row for row in fitting if row.torch == series]:
        text = f"Take the same torch built with CUDA {same[-1].cuda}"
        remedies.append(Manual(text, (_install(version, same[-1]),)))
    newer = [row for row in fitting if row.torch != series]
    if newer and not remedies:
        text = (
            "Take a torch built for this GPU, with the packages that belong to it (pip check names those that do not)"
        )
        remedies.append(Manual(text, (_install(newer[0].version, newer[0]),)))
    if newer:
        text = "The newest known, as recent SGLang asks for"
        remedies.append(Manual(text, (_install(newer[-1].version, newer[-1]),)))
    return remedies or [Manual("Build torch from source with TORCH_CUDA_ARCH_LIST naming this GPU")]


def _install(version: str, row: TorchWheel) -> str:
    return f"pip install --force-reinstall torch=={version} --index-url {row.index}"

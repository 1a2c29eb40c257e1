"""The installed torch is a build without CUDA, and a GPU is there

## What it finds
A torch without CUDA (`+cpu`, or one for AMD GPUs) where an NVIDIA GPU is there or named.

## Why it matters
Everything installs and imports; then "Torch not compiled with CUDA enabled", or a server that silently computes on
the CPU. It comes with PyPI's wheels for aarch64 up to 2.10, which have no CUDA, and with a `--index-url …/whl/cpu`
left in a requirements file.

## How it is found
torch/version.py is read as text. Without a GPU, named or seen, a build for the CPU is all right.

## Remedy
Install the same version from one of PyTorch's CUDA indexes.

## Sources
- pytorch/pytorch#168065: aarch64 wheels without CUDA
- torch/version.py of 2.13.0+cpu: cuda is None
"""

import re
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
    Signature,
    Unknown,
    at,
    check,
    error,
)
from sm120kit.diagnosis.torch_wheels import wheels_for
from sm120kit.snapshot.types.packages import TorchBuild

SIGNATURES = [
    Signature(
        pattern=r"Torch not compiled with CUDA enabled",
        rank="cause",
        example="AssertionError: Torch not compiled with CUDA enabled",
        look_alike="RuntimeError: No CUDA GPUs are available",
        source="torch/cuda/__init__.py, torch 2.13.0+cpu",
        message="The torch that is installed was built without CUDA",
        remedies=(
            LogRemedy(
                "Install the same version from PyTorch's index of CUDA 12.8 (cu128), or of 13.0 (cu130) with a "
                "driver from 580 on",
                (
                    "python3 -m pip install --force-reinstall torch[[=={torch_version}]] --index-url "
                    "https://download.pytorch.org/whl/cu130",
                ),
            ),
        ),
    ),
]


@check("torch.cpu-only")
def cpu_only(case: Case) -> Iterator[Finding | CannotTell]:
    torch = case.snapshot.torch
    if isinstance(torch, Unknown):
        if case.distribution("torch") is None:
            raise NotApplicable("torch is not installed")
        yield CannotTell("torch", torch.reason)
        return
    build = torch.value
    gpus = _gpus(case)
    if build.cuda or not gpus:
        return
    kind = "for AMD GPUs" if "+rocm" in build.version else "for the CPU alone"
    yield error(
        f"torch {build.version}",
        f"torch {build.version} is a build {kind}, and an NVIDIA GPU is {'named' if case.hardware_named else 'there'}",
        [at("no CUDA release in torch's version file", build.path), *gpus],
        [_remedy(case, build)],
    )


def _gpus(case: Case) -> list[Evidence]:
    if case.hardware_named:
        return [at(f"{gpu.name} named", "--gpu") for gpu in case.request.gpus]
    gpus = case.snapshot.driver.gpus
    if isinstance(gpus, Known) and gpus.value:
        return [at(gpu.name, gpus.source.where) for gpu in gpus.value[:1]]
    return [at(sign) for sign in case.gpu_signs if not sign.endswith("/dev/dxg")]


def _remedy(case: Case, build: TorchBuild) -> Manual:
    machine = case.snapshot.host.architecture
    capabilities = case.compute_capabilities
    wanted = capabilities.value if isinstance(capabilities, Known) else ()
    fitting = wheels_for(wanted, machine.value if isinstance(machine, Known) else "x86_64")
    own = re.match(r"\d+\.\d+\.\d+", build.version)
    same = [row for row in fitting if own and row.torch == own[0].rpartition(".")[0]]
    if own and same:
        command = f"pip install --force-reinstall torch=={own[0]} --index-url {same[-1].index}"
        return Manual(f"Take the same torch built with CUDA {same[-1].cuda}", (command,))
    if fitting:
        row = fitting[-1]
        command = f"pip install --force-reinstall torch=={row.version} --index-url {row.index}"
        return Manual(f"Take a torch built with CUDA {row.cuda}", (command,))
    return Manual("Take a torch built with CUDA from https://pytorch.org/get-started/locally")

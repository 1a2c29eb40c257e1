"""A compiled extension takes symbols that the installed torch does not have: it was built for another torch

## What it finds
Shared objects of kernel packages, torchvision, torchaudio, vLLM and flash-attn that ask torch for symbols which no
library of the installed torch exports.

## Why it matters
torch keeps no stable C++ interface from one minor release to the next. Loading such an extension ends with `undefined
symbol: _ZN3c10…`, under "Could not load any common_ops library!" for SGLang's kernels, and as "operator
torchvision::nms does not exist" for torchvision, whose loader hides the cause.

## How it is found
The symbols in torch's namespaces that an extension leaves undefined are looked up in the hash tables of torch's own
libraries, just as the loader does. Versions and pins play no part: torchaudio 2.11 beside torch 2.14 is healthy, since
it was made for the stable interface.

## Remedy
Install the build of the extension that belongs to the installed torch.

## Sources
- sgl-project/sglang#13948, #18203; agentica-project/rllm#8; pytorch/audio#4212
- measured: sgl-kernel 0.3.21, built for torch 2.9, beside torch 2.13.0 lacks c10::MessageLogger and others
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Known,
    LogRemedy,
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
from sm120kit.diagnosis.serving import is_loaded
from sm120kit.diagnosis.wheels import has_cuda_torch, kernel_remedy
from sm120kit.snapshot.types.packages import SharedObject, TorchBuild

SIGNATURES = [
    Signature(
        pattern=r"(?:\S*/(?:site|dist)-packages/(?P<package>\w+)/\S*: )?undefined symbol: "
        r"(?:_ZNK?(?:2at|3c10|5torch)|aoti_torch_)\w*",
        rank="cause",
        example="ImportError: /usr/local/lib/python3.12/dist-packages/sgl_kernel/sm100/common_ops.abi3.so: undefined "
        "symbol: _ZNK3c106SymInt6sym_neERKS0_",
        look_alike="libcusparse.so.12: undefined symbol: __nvJitLinkCreate_12_8, version libnvJitLink.so.12",
        source="sgl-project/sglang#13948, #18203",
        message="[[{package}|An extension]] was built for another torch than the one that is installed",
        remedies=(
            LogRemedy("See which pairs do not fit", ("python3 -m pip check",)),
            LogRemedy(
                "Install the build of it that belongs to the installed torch; the kernels of SGLang are called "
                "sgl-kernel or "
                "sglang-kernel, depending on their version",
                ("python3 -m pip install --force-reinstall --no-deps [[{package}|PACKAGE]]",),
            ),
            LogRemedy(
                "Bring torch and all that goes with it to what SGLang pins",
                ("python3 -m pip install sglang[[=={sglang_version}]]",),
            ),
        ),
    ),
    Signature(
        pattern=r"operator torchvision::nms does not exist",
        rank="cause",
        example="RuntimeError: operator torchvision::nms does not exist",
        look_alike="torchvision is not available, image processing falls back to PIL",
        source="torchvision/_meta_registrations.py of 0.28.0 beside another torch",
        message="torchvision was built for another torch than the one that is installed",
        remedies=(
            LogRemedy("See which pairs do not fit", ("python3 -m pip check",)),
            LogRemedy(
                "Install the torchvision that belongs to the installed torch, from the same index as that",
                ("python3 -m pip install --force-reinstall --no-deps torchvision",),
            ),
        ),
    ),
]


@check("wheels.abi-mismatch")
def abi_mismatch(case: Case) -> Iterator[Finding | CannotTell]:
    torch = case.snapshot.torch
    if isinstance(torch, Unknown) or not has_cuda_torch(case):
        raise NotApplicable("no torch with CUDA is installed")
    objects = [each for each in case.snapshot.shared_objects if not each.distribution.startswith("torch ")]
    if not objects:
        raise NotApplicable("no compiled extension of torch that is known is installed")
    for each in objects:
        if not is_loaded(case, each):
            continue
        if isinstance(each.undefined, Unknown):
            yield CannotTell(each.path, each.undefined.reason)
        elif each.undefined.value:
            yield _mismatch(case, each, each.undefined.value, torch)


def _mismatch(case: Case, library: SharedObject, names: tuple[str, ...], torch: Known[TorchBuild]) -> Finding:
    name = library.path.rpartition("/")[2]
    always = library.role != "on-demand"
    effect = "it cannot be loaded" if always else "it cannot be loaded when a model needs it"
    return finding(
        Severity.ERROR if always else Severity.WARNING,
        library.path,
        f"{name} of {library.distribution} was built for another torch than {torch.value.version}: it takes symbols "
        f"that this one does not have, and {effect}",
        [
            *(at(f"undefined symbol {each}", library.path, library.distribution) for each in names[:3]),
            at(f"torch {torch.value.version}", torch.value.path),
        ],
        [_remedy(case, library, torch.value.version)],
    )


def _remedy(case: Case, library: SharedObject, torch: str) -> Remedy:
    name = library.distribution.partition(" ")[0]
    if name in ("sglang-kernel", "sgl-kernel", "sgl-deep-gemm"):
        return kernel_remedy(case)
    return Manual(
        f"Install the {name} that was released with torch {torch.partition('+')[0]}; pip check names the pairs",
        ("pip check", f"pip install --force-reinstall --no-deps {name}"),
    )

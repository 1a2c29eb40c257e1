"""Cases of wheels.abi-mismatch. The symbols are those that sgl-kernel 0.3.21 lacks beside torch 2.13.0."""

from sm120kit.snapshot.facts import Unknown
from tests.builders import SITE, driver, gpu, packages, shared_object, snapshot, torch_build
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "wheels.abi-mismatch"

_COMMON = f"{SITE}/sgl_kernel/sm100/common_ops.abi3.so"
_LOST = ("_ZN3c1013MessageLoggerC1EPKcii", "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib")
_SGLANG = packages(sglang="0.5.23", sglang_kernel="0.4.10", torch="2.14.1")

CASES = [
    healthy("all symbols are there", snapshot(distributions=_SGLANG, shared_objects=(shared_object(),))),
    broken(
        "kernels built for torch 2.9",
        snapshot(shared_objects=(shared_object(owner="sgl-kernel 0.3.21", undefined=_LOST),)),
        an_error(_COMMON, "undefined symbol _ZN3c1013MessageLoggerC1EPKcii", "another torch than 2.14.1+cu130"),
    ),
    broken(
        "torchvision for another torch",
        snapshot(
            shared_objects=(
                shared_object("torchvision/_C.so", "torchvision 0.24.0", undefined=("_ZN2at4cuda5streamEv",)),
            )
        ),
        an_error(f"{SITE}/torchvision/_C.so", "_C.so of torchvision 0.24.0"),
    ),
    broken(
        "torchaudio for another torch: only some models load it",
        snapshot(
            shared_objects=(
                shared_object(
                    "torchaudio/lib/libtorchaudio.so",
                    "torchaudio 2.11.0",
                    role="on-demand",
                    undefined=("aoti_torch_abi_version",),
                ),
            )
        ),
        a_warning(f"{SITE}/torchaudio/lib/libtorchaudio.so", "aoti_torch_abi_version"),
    ),
    look_alike(
        "torchaudio 2.11 beside torch 2.14.1: made for the stable interface",
        snapshot(
            distributions=packages(torch="2.14.1", torchaudio="2.11.0"),
            shared_objects=(shared_object("torchaudio/lib/libtorchaudio.so", "torchaudio 2.11.0", role="on-demand"),),
        ),
    ),
    look_alike(
        "the file for 9.0 does not fit, and the GPU is 12.0",
        snapshot(
            shared_objects=(
                shared_object(),
                shared_object("sgl_kernel/sm90/common_ops.abi3.so", role="hopper", undefined=_LOST),
            )
        ),
    ),
    broken(
        "the file for 9.0 does not fit, and the GPU is 9.0",
        snapshot(
            driver=driver(gpus=(gpu(name="NVIDIA H100 80GB HBM3", cc="9.0"),)),
            shared_objects=(shared_object("sgl_kernel/sm90/common_ops.abi3.so", role="hopper", undefined=_LOST),),
        ),
        an_error(f"{SITE}/sgl_kernel/sm90/common_ops.abi3.so"),
    ),
    unknown("a library of torch is not there", snapshot(shared_objects=(shared_object(undefined=None),))),
    not_applicable(
        "no extension", snapshot(shared_objects=(shared_object("torch/lib/libtorch_cuda.so", "torch 2.14.1"),))
    ),
    not_applicable("a torch for the CPU", snapshot(torch=torch_build("2.13.0+cpu", ""))),
    not_applicable("no torch", snapshot(torch=Unknown("torch is not installed"))),
]

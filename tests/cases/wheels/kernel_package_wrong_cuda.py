"""Cases of wheels.kernel-package-wrong-cuda. Names are those of sgl-kernel 0.3.21 and sglang-kernel 0.4.10."""

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from tests.builders import SITE, driver, gpu, packages, shared_object, snapshot, torch_build
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "wheels.kernel-package-wrong-cuda"

_CUDA_12 = ("libnvrtc.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcudart.so.12")
_NEW = packages(sglang="0.5.23", sglang_kernel="0.4.10", torch="2.14.1")
_OLD = packages(sgl_kernel="0.3.21", sglang="0.5.9", torch="2.14.1")
_COMMON = shared_object()
_WRONG = shared_object(owner="sgl-kernel 0.3.21", missing=_CUDA_12)

CASES = [
    healthy("kernels for CUDA 13 beside a torch for it", snapshot(distributions=_NEW, shared_objects=(_COMMON,))),
    broken(
        "sgl-kernel 0.3.21 beside a torch for CUDA 13",
        snapshot(distributions=_OLD, shared_objects=(_WRONG,)),
        an_error(
            "sgl-kernel 0.3.21",
            "libnvrtc.so.12",
            "libcudart.so.12",
            "built for CUDA 12",
            "torch is built with CUDA 13.0",
        ),
    ),
    broken(
        "sglang-kernel 0.4.10 beside a torch for CUDA 12",
        snapshot(
            distributions=packages(sglang_kernel="0.4.10", torch="2.10.0"),
            torch=torch_build("2.10.0+cu128", "12.8"),
            shared_objects=(shared_object(missing=("libcudart.so.13", "libnvrtc.so.13")),),
        ),
        an_error("sglang-kernel 0.4.10", "libcudart.so.13 and libnvrtc.so.13", "built for CUDA 13"),
    ),
    broken(
        "only what some models use is wrong",
        snapshot(
            distributions=_NEW,
            shared_objects=(
                _COMMON,
                shared_object("sgl_kernel/flashmla_ops.abi3.so", role="on-demand", missing=("libcudart.so.12",)),
            ),
        ),
        a_warning("sglang-kernel 0.4.10", "when it is first used"),
    ),
    broken(
        "libnuma is not on the system",
        snapshot(
            distributions=packages(sglang_kernel="0.4.2", torch="2.11.0"),
            shared_objects=(shared_object(owner="sglang-kernel 0.4.2", missing=("libnuma.so.1",)),),
        ),
        an_error("sglang-kernel 0.4.2", "asks for libnuma.so.1"),
    ),
    broken(
        "vLLM for CUDA 13 beside a torch for 12.6",
        snapshot(
            distributions=packages(vllm="0.21.0", torch="2.11.0"),
            torch=torch_build("2.11.0+cu126", "12.6"),
            shared_objects=(shared_object("vllm/_C.abi3.so", "vllm 0.21.0", missing=("libcudart.so.13",)),),
        ),
        an_error("vllm 0.21.0", "libcudart.so.13"),
    ),
    look_alike("SM120 takes the files of sm100/", snapshot(distributions=_NEW, shared_objects=(_COMMON,))),
    look_alike(
        "the folder for 9.0 is broken, and the GPU is 12.0",
        snapshot(
            distributions=_NEW,
            shared_objects=(
                _COMMON,
                shared_object("sgl_kernel/sm90/common_ops.abi3.so", role="hopper", missing=("libcudart.so.12",)),
            ),
        ),
    ),
    broken(
        "the folder for 9.0 is broken, and the GPU is 9.0",
        snapshot(
            distributions=_NEW,
            driver=driver(gpus=(gpu(name="NVIDIA H200", cc="9.0"),)),
            shared_objects=(
                shared_object("sgl_kernel/sm90/common_ops.abi3.so", role="hopper", missing=("libcudart.so.12",)),
            ),
        ),
        an_error("sglang-kernel 0.4.10"),
    ),
    look_alike(
        "a library of another kind is missing",
        snapshot(distributions=_NEW, shared_objects=(shared_object(missing=("libmscclpp.so.0",)),)),
    ),
    unknown("no shared object was found", snapshot(distributions=_NEW)),
    unknown(
        "the file is damaged",
        snapshot(
            distributions=_NEW,
            shared_objects=(replace(_COMMON, needed=Unknown(f"{SITE}/sgl_kernel: not a 64-bit ELF file")),),
        ),
    ),
    not_applicable("no kernel package", snapshot()),
    not_applicable(
        "a torch for the CPU",
        snapshot(distributions=_OLD, torch=torch_build("2.13.0+cpu", ""), shared_objects=(_WRONG,)),
        request=what_if("12.0"),
    ),
]

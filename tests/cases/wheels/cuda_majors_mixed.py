"""Cases of wheels.cuda-majors-mixed. Sizes of cuDNN's file are made up; that two wheels list it is in both RECORDs."""

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.packages import Claim, SharedFile
from tests.builders import SITE, packages, shared_object, snapshot, torch_build
from tests.cases.harness import a_note, a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "wheels.cuda-majors-mixed"

_CUDNN = f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9"
_CU12, _CU13 = Claim("nvidia-cudnn-cu12 9.10.2.21", 104664), Claim("nvidia-cudnn-cu13 9.24.0.43", 112640)
_BOTH = packages(nvidia_cudnn_cu12="9.10.2.21", nvidia_cudnn_cu13="9.24.0.43", torch="2.14.1")
_TORCH = shared_object("torch/lib/libtorch_cuda.so", "torch 2.14.1", undefined=None)


def _shared(size: int, wanted: str = "nvidia-cudnn-cu13 9.24.0.43") -> SharedFile:
    return SharedFile(_CUDNN, size, (_CU12, _CU13), wanted)


CASES = [
    healthy("wheels of one major", snapshot(distributions=packages(torch="2.14.1"), shared_objects=(_TORCH,))),
    broken(
        "cuDNN for CUDA 12 lies where torch expects that for 13",
        snapshot(distributions=_BOTH, shared_files=(_shared(104664),)),
        an_error(_CUDNN, "file of nvidia-cudnn-cu12 9.10.2.21", "torch wants that of nvidia-cudnn-cu13 9.24.0.43"),
    ),
    broken(
        "both are installed, and torch's own came last",
        snapshot(distributions=_BOTH, shared_files=(_shared(112640),)),
        a_warning(_CUDNN, "file of nvidia-cudnn-cu13 9.24.0.43"),
    ),
    broken(
        "the file fits neither",
        snapshot(distributions=_BOTH, shared_files=(_shared(1),)),
        a_warning(_CUDNN, "the size of neither"),
    ),
    broken(
        "a library that torch needs is nowhere, and the other major's wheels are there",
        snapshot(
            distributions=packages(nvidia_cublas_cu12="12.8.4.1", torch="2.14.1"),
            shared_objects=(replace(_TORCH, missing=("libcublas.so.13", "libcublasLt.so.13")),),
        ),
        an_error("torch 2.14.1", "libcublas.so.13 and libcublasLt.so.13", "such as nvidia-cublas-cu12"),
        a_note("CUDA wheels"),
    ),
    broken(
        "both majors side by side, in folders of their own",
        snapshot(distributions=packages(nvidia_cuda_runtime_cu12="12.8.90", torch="2.14.1"), shared_objects=(_TORCH,)),
        a_note("CUDA wheels", "disturb nothing", "nvidia-cuda-runtime-cu12"),
    ),
    broken(
        "wheels of 13 beside a torch for 12",
        snapshot(
            distributions=packages(nvidia_cuda_runtime="13.0.96", torch="2.10.0"),
            torch=torch_build("2.10.0+cu128", "12.8"),
        ),
        a_note("CUDA wheels", "nvidia-cuda-runtime 13.0.96"),
    ),
    look_alike(
        "packages whose names end in cu13 beside a torch for 13",
        snapshot(
            distributions=packages(
                nvidia_cudnn_cu13="9.24.0.43", nvidia_nccl_cu13="2.30.7", nvshmem4py_cu13="0.3.1", torch="2.14.1"
            ),
            shared_objects=(_TORCH,),
        ),
    ),
    look_alike(
        "NCCL, which another check judges",
        snapshot(
            distributions=packages(torch="2.14.1"),
            shared_files=(SharedFile(f"{SITE}/nvidia/nccl/lib/libnccl.so.2", 1, (_CU12, _CU13)),),
        ),
    ),
    unknown(
        "torch's library cannot be read",
        snapshot(shared_objects=(replace(_TORCH, needed=Unknown("permission denied")),)),
    ),
    not_applicable("a torch for the CPU", snapshot(torch=torch_build("2.13.0+cpu", ""))),
]

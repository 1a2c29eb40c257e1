"""Cases of toolkit.dev-headers-missing."""

from collections.abc import Sequence

from msgspec.structs import replace

from sm120kit.snapshot.types.toolkits import DEVELOPMENT_HEADERS, Toolkit
from tests.builders import (
    CU13,
    distribution,
    driver,
    flashinfer,
    gpu,
    known,
    named,
    no_driver,
    sglang,
    snapshot,
    toolkit,
    torch_extensions,
)
from tests.cases.harness import a_note, a_warning, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "toolkit.dev-headers-missing"


def _without(*headers: str) -> Toolkit:
    return replace(toolkit(), headers=tuple(name for name in DEVELOPMENT_HEADERS if name not in headers))


def _cache(version: str) -> Sequence[object]:
    return (distribution("flashinfer-jit-cache", version), distribution("flashinfer-python", "0.7.2.post1"))


_NO_CUBLAS = _without("cublasLt.h", "cublas_v2.h")
_NO_CURAND = _without("curand.h", "curand_kernel.h")
_NO_NVRTC = _without("nvrtc.h")
_OLD = flashinfer("0.6.7.post2")

_VIEW = "/home/me/.local/share/sm120kit/targets/venv/current"


def _view(*missing: str) -> Toolkit:
    """A toolkit of links to the wheels of the venv."""
    made = toolkit(_VIEW, layout="view")
    nvcc = replace(made.parts[0], links_to=f"{CU13}/bin/nvcc")
    return replace(_without(*missing), home=_VIEW, real_home=_VIEW, layout="view", parts=(nvcc, *made.parts[1:]))


CASES = [
    healthy("every header is there", snapshot(consumers=(flashinfer(),))),
    broken(
        "no cuBLAS headers under FlashInfer 0.7.2",
        snapshot(toolkits=(_NO_CUBLAS,), consumers=(flashinfer(),)),
        a_warning(CU13, "lacks cublasLt.h, cublas_v2.h", "flashinfer: norm", "no cublasLt.h"),
    ),
    broken(
        "no cuRAND headers under FlashInfer 0.6.7",
        snapshot(toolkits=(_NO_CURAND,), consumers=(_OLD,)),
        a_warning(CU13, "flashinfer: norm, sampling, topk"),
    ),
    broken(
        "no NVRTC header: FlashInfer 0.6.7 on B200",
        snapshot(toolkits=(_NO_NVRTC,), consumers=(_OLD,), driver=driver(gpus=(gpu(name="NVIDIA B200", cc="10.0"),))),
        a_warning(CU13, "trtllm_gen fmha", "nvrtc.h"),
    ),
    broken(
        "GPUs not known: every module counts",
        snapshot(toolkits=(_NO_CUBLAS,), consumers=(flashinfer(),), driver=no_driver()),
        a_warning(CU13, "moe_utils", "trtllm_gen fmha"),
    ),
    broken(
        "only torch's own headers need it",
        snapshot(toolkits=(_without("cusparse.h"),), consumers=(torch_extensions(),)),
        a_note(CU13, "ATen/cuda/CUDAContext.h"),
    ),
    broken(
        "a jit-cache of another version does not spare FlashInfer the compiler",
        snapshot(toolkits=(_NO_CUBLAS,), consumers=(flashinfer(),), distributions=known(_cache("0.7.1+cu130"))),
        a_warning(CU13, "flashinfer: norm"),
    ),
    look_alike(
        "a matching jit-cache holds the modules",
        snapshot(toolkits=(_NO_CUBLAS,), consumers=(flashinfer(),), distributions=known(_cache("0.7.2.post1+cu130"))),
    ),
    look_alike(
        "a header that no module includes", snapshot(toolkits=(_without("cufft.h"),), consumers=(flashinfer(),))
    ),
    look_alike("NVRTC's header: 0.7.2 includes it no more", snapshot(toolkits=(_NO_NVRTC,), consumers=(flashinfer(),))),
    look_alike("SGLang's JIT includes none of them", snapshot(toolkits=(_NO_CUBLAS,), consumers=(sglang(),))),
    look_alike(
        "the modules that include it are not built for the GPU named",
        snapshot(toolkits=(_NO_NVRTC,), consumers=(replace(_OLD, distribution="flashinfer-python 0.6.7"),)),
        request=what_if("12.0"),
    ),
    look_alike(
        "FlashInfer of a version older than the table",
        snapshot(toolkits=(_NO_CUBLAS,), consumers=(flashinfer("0.5.3"),)),
    ),
    unknown(
        "CPATH adds a folder",
        snapshot(toolkits=(_NO_CUBLAS,), consumers=(flashinfer(),), environment={"CPATH": "/opt/cublas/include"}),
    ),
    unknown(
        "FLASHINFER_EXTRA_CUDAFLAGS adds a folder",
        snapshot(
            toolkits=(_NO_CUBLAS,),
            consumers=(flashinfer(),),
            environment={"FLASHINFER_EXTRA_CUDAFLAGS": "-O3 -I/opt/cublas/include"},
        ),
    ),
    not_applicable("a toolkit named that nobody takes", named(toolkits=(_NO_CUBLAS,))),
    not_applicable("no toolkit", snapshot(toolkits=(), consumers=(flashinfer(home=None),))),
    broken(
        "a toolkit of links without a header that its source has by now",
        snapshot(toolkits=(_view("cublasLt.h"), toolkit()), consumers=(flashinfer(home=_VIEW),)),
        a_warning(_VIEW, "cublasLt.h"),
    ),
]

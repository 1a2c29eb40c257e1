"""Cases of toolkit.nvcc-missing."""

from collections.abc import Callable
from typing import Any

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.snapshot import Snapshot
from sm120kit.snapshot.types.toolkits import Consumer, Nvcc
from tests.builders import (
    CU13,
    distribution,
    flashinfer,
    known,
    live_view,
    named,
    sglang,
    snapshot,
    toolkit,
    torch_build,
    torch_extensions,
)
from tests.cases.harness import a_note, a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "toolkit.nvcc-missing"

_DEFAULT = "/usr/local/cuda"
_RUNTIME = toolkit(drop=("nvcc", "nvcc.profile", "ptxas", "fatbinary", "cudafe++", "nvlink", "cicc", "crt"), cccl=None)
_CU12 = toolkit(
    "/srv/venv/lib/python3.12/site-packages/nvidia", "12.8", drop=("nvcc", "cicc", "cudafe++"), layout="wheel-cu12"
)
_PREBUILT = known(
    (distribution("flashinfer-jit-cache", "0.7.2.post1+cu130"), distribution("flashinfer-python", "0.7.2.post1"))
)


def _without(*consumers: Consumer, **changes: Any) -> Snapshot:
    """torch's runtime wheels and no compiler anywhere."""
    return snapshot(**{"toolkits": (_RUNTIME,), "consumers": consumers, **changes})


def _by_default(consumer: Callable[..., Consumer]) -> Consumer:
    """A consumer that takes /usr/local/cuda whether it is there or not."""
    return consumer(home=_DEFAULT, found_via=_DEFAULT, toolkit="")


CASES = [
    healthy("a toolkit named", named()),
    healthy("SGLang takes a toolkit", snapshot(consumers=(sglang(), flashinfer(), torch_extensions()))),
    look_alike(
        "torch's runtime wheels have no nvcc, and a system toolkit is taken",
        snapshot(toolkits=(_RUNTIME, toolkit(_DEFAULT, layout="system")), consumers=(sglang(home=_DEFAULT),)),
    ),
    look_alike(
        "a script hands over to a real nvcc",
        snapshot(
            consumers=(sglang(home="/usr/local", nvcc=known("/usr/local/bin/nvcc"), toolkit=CU13),),
            nvcc_on_path=(Nvcc("/usr/local/bin/nvcc", "/usr/local/bin/nvcc", "script", f"{CU13}/bin/nvcc"),),
        ),
    ),
    broken(
        "a repair that this shell does not use has one",
        _without(_by_default(sglang), flashinfer(home=None), live_view=live_view()),
        a_note("CUDA_HOME", "unless it uses the repair that is in place"),
    ),
    broken(
        "a repair is in place, and a variable of its own leads FlashInfer elsewhere",
        _without(flashinfer(home=_DEFAULT, nvcc=known("/opt/bin/nvcc"), toolkit=""), live_view=live_view()),
        an_error(_DEFAULT, "no usable bin/nvcc"),
    ),
    not_applicable(
        "torch without CUDA builds no CUDA extension",
        _without(torch_extensions(home=None), torch=torch_build("2.13.0+cpu", "")),
    ),
    broken("no toolkit for SGLang", _without(sglang(home=None)), an_error("CUDA_HOME", "sglang must compile")),
    broken("no toolkit for FlashInfer", _without(flashinfer(home=None)), an_error("CUDA_HOME", "flashinfer")),
    broken(
        "one cause, said once for all who look",
        _without(_by_default(sglang), flashinfer(home=None), torch_extensions(home=None)),
        an_error("CUDA_HOME", "sglang, flashinfer must compile", "torch 2.14.1"),
    ),
    broken(
        "a jit-cache of this version covers FlashInfer",
        _without(flashinfer(home=None), distributions=_PREBUILT),
        a_warning("CUDA_HOME", "prebuilt kernels", "flashinfer-jit-cache 0.7.2.post1+cu130"),
    ),
    broken(
        "a jit-cache for CUDA 12 under a torch of CUDA 13 covers nothing",
        _without(
            flashinfer(home=None),
            distributions=known(
                (
                    distribution("flashinfer-jit-cache", "0.7.2.post1+cu129"),
                    distribution("flashinfer-python", "0.7.2.post1"),
                )
            ),
        ),
        an_error("CUDA_HOME", "flashinfer must compile"),
    ),
    broken(
        "SGLang needs one all the same",
        _without(flashinfer(home=None), sglang(home=None), distributions=_PREBUILT),
        an_error("CUDA_HOME", "sglang must compile"),
    ),
    broken("only torch is installed", _without(torch_extensions(home=None)), a_note("CUDA_HOME", "cannot build")),
    broken(
        "CUDA_HOME names torch's runtime wheels",
        _without(sglang(), environment={"CUDA_HOME": CU13}),
        an_error(CU13, "no usable bin/nvcc", "libraries, and no compiler"),
    ),
    broken(
        "the cu12 wheels hold no nvcc",
        snapshot(
            toolkits=(_CU12,),
            consumers=(flashinfer("0.6.7.post2", home=_CU12.home),),
            torch=torch_build("2.9.1", "12.8"),
        ),
        an_error(_CU12.home, "no compiler"),
    ),
    broken("the toolkit named has no nvcc", named(toolkits=(_RUNTIME,)), an_error(CU13, "nothing can be compiled")),
    broken(
        "the folder named is none, and its taker is told with it",
        named("/opt/nothing", toolkits=(), consumers=(sglang(home="/opt/nothing", toolkit=""),)),
        an_error("/opt/nothing", "sglang"),
    ),
    broken(
        "nvcc is a link to nothing",
        _without(
            sglang(home="/opt/cuda", nvcc=known("/opt/cuda/bin/nvcc"), toolkit="", found_via="nvcc on PATH"),
            nvcc_on_path=(Nvcc("/opt/cuda/bin/nvcc", "/opt/cuda-12.8/bin/nvcc", "dangling"),),
        ),
        an_error("/opt/cuda", "a link to /opt/cuda-12.8/bin/nvcc, which is not there"),
    ),
    unknown(
        "a script that does not tell what it starts",
        _without(
            sglang(home="/usr/local", nvcc=known("/usr/local/bin/nvcc"), toolkit=""),
            nvcc_on_path=(Nvcc("/usr/local/bin/nvcc", "/usr/local/bin/nvcc", "script"),),
        ),
    ),
    unknown("it is not known what is installed", snapshot(distributions=Unknown("site-packages cannot be listed"))),
    not_applicable("nothing installed compiles", _without()),
]

"""Cases of toolkit.arch-unsupported."""

from typing import Any

from sm120kit.snapshot.facts import Known, Source
from sm120kit.snapshot.types.snapshot import Snapshot
from sm120kit.snapshot.types.toolkits import Toolkit
from tests.builders import CU13, driver, flashinfer, gpu, named, no_driver, sglang, snapshot, toolkit, torch_extensions
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "toolkit.arch-unsupported"

_HOME = "/usr/local/cuda"


def _takes(release: str, *, cc: str = "12.0", **changes: Any) -> Snapshot:
    """SGLang compiles with a system toolkit of ``release`` for one card of compute capability ``cc``."""
    changes = {"driver": driver(gpus=[gpu(cc=cc)]), "consumers": (sglang(home=_HOME),), **changes}
    return snapshot(toolkits=(toolkit(_HOME, release, layout="system"),), **changes)


def _lists(*architectures: str) -> Toolkit:
    asked = Known(
        tuple(f"compute_{each}" for each in architectures), Source("command", f"{_HOME}/bin/nvcc --list-gpu-arch")
    )
    return toolkit(_HOME, releases={"nvcc": None}, layout="system", architectures=asked)


_MIXED_BOX = driver(gpus=[gpu(0), gpu(1, "NVIDIA Tesla V100", "7.0"), gpu(2, "NVIDIA Tesla V100", "7.0")])

CASES = [
    healthy("13.0 on an RTX PRO 6000", named()),
    healthy("12.8 on an RTX PRO 6000", _takes("12.8")),
    healthy("13.0 on a DGX Spark", _takes("13.0", cc="12.1")),
    healthy("12.8 on a B200", _takes("12.8", cc="10.0")),
    look_alike(
        "an unknown nvcc release, and nvcc lists the GPU",
        snapshot(toolkits=(_lists("100", "120"),), consumers=(sglang(home=_HOME),)),
    ),
    broken("12.6 on an RTX PRO 6000", _takes("12.6"), an_error(_HOME, "nvcc 12.6", "12.0", "known since CUDA 12.8")),
    broken("Ubuntu's 12.0 on an RTX 5090", _takes("12.0"), an_error(_HOME, "GPU 0")),
    broken("12.8 on a DGX Spark", _takes("12.8", cc="12.1"), an_error(_HOME, "known since CUDA 12.9")),
    broken("12.9 on a Thor", _takes("12.9", cc="11.0"), an_error(_HOME, "known since CUDA 13.0")),
    broken("13.0 has dropped Volta", _takes("13.0", cc="7.0"), an_error(_HOME, "7.0")),
    broken(
        "nvcc's own list lacks the GPU",
        snapshot(toolkits=(_lists("80", "90"),), consumers=(sglang(home=_HOME),)),
        an_error(_HOME, "nvcc lists compute_80, compute_90"),
    ),
    broken(
        "each card of a mixed box is named",
        snapshot(toolkits=(toolkit(),), consumers=(sglang(),), driver=_MIXED_BOX),
        an_error(CU13, "GPU 1 NVIDIA Tesla V100", "GPU 2 NVIDIA Tesla V100"),
    ),
    broken("named hardware", _takes("12.8", driver=no_driver()), an_error(_HOME, "--gpu"), request=what_if("12.1")),
    broken(
        "ptxas is older than nvcc",
        named(toolkits=(toolkit(release="12.8", releases={"ptxas": "12.4"}),)),
        an_error(CU13, "ptxas 12.4"),
    ),
    broken(
        "only torch extensions are built with it",
        _takes("12.6", consumers=(torch_extensions(home=_HOME),)),
        a_warning(_HOME, "12.6"),
    ),
    broken(
        "a variable asks for a form of the target that this release lacks",
        _takes("12.8", consumers=(flashinfer(home=_HOME),), environment={"FLASHINFER_CUDA_ARCH_LIST": "12.0f"}),
        an_error(_HOME, "FLASHINFER_CUDA_ARCH_LIST=12.0f", "known since CUDA 12.9"),
    ),
    look_alike(
        "the variable asks for the form that this release has",
        _takes("12.8", consumers=(flashinfer(home=_HOME),), environment={"FLASHINFER_CUDA_ARCH_LIST": "12.0a"}),
    ),
    look_alike(
        "the variable asks for an older target than the GPU's",
        _takes(
            "12.8",
            cc="12.1",
            consumers=(flashinfer(home=_HOME),),
            environment={"FLASHINFER_CUDA_ARCH_LIST": "12.0a"},
        ),
    ),
    look_alike(
        "no GPU is known, and the variable names the target",
        _takes(
            "13.0",
            driver=no_driver(),
            consumers=(torch_extensions(home=_HOME),),
            environment={"TORCH_CUDA_ARCH_LIST": "9.0;12.0+PTX"},
        ),
    ),
    unknown("no GPU is known", _takes("12.6", driver=no_driver())),
    unknown("a compute capability of the future", _takes("13.5", cc="15.0")),
    unknown(
        "nvcc of unknown release that was not asked",
        snapshot(toolkits=(toolkit(_HOME, releases={"nvcc": None}),), consumers=(sglang(home=_HOME),)),
    ),
    not_applicable("an old toolkit that nobody takes", _takes("12.0", consumers=())),
]

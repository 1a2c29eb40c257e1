"""Cases of flashinfer.toolkit-too-old. Floors were read in each version's compilation_context.py."""

from typing import Any

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import (
    driver,
    flashinfer,
    gpu,
    host_without_gpu,
    no_driver,
    packages,
    snapshot,
    toolkit,
    torch_build,
)
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "flashinfer.toolkit-too-old"

HOME = "/usr/local/cuda-12.8"

_SPARK = driver("580.142", gpus=(gpu(name="NVIDIA GB10", cc="12.1"),))
_CU128 = torch_build("2.9.1+cu128", "12.8")


def _stack(version: str, release: str = "12.8", **changes: Any) -> Snapshot:
    made = snapshot(
        distributions=packages(flashinfer_python=version, torch="2.9.1"),
        torch=_CU128,
        toolkits=(toolkit(HOME, release, layout="system"),),
        consumers=(flashinfer(version.partition(".post")[0], HOME, distribution=f"flashinfer-python {version}"),),
    )
    return replace(made, **changes)


CASES = [
    healthy("12.9 for 0.6.7", _stack("0.6.7.post2", "12.9")),
    healthy("13.0 for 0.6.11", _stack("0.6.11.post1", "13.0")),
    broken(
        "12.8 for 0.6.7 on 12.0",
        _stack("0.6.7.post2"),
        an_error("flashinfer-python 0.6.7.post2", "wants CUDA 12.9", "nvcc 12.8", "compute capability 12.0"),
    ),
    broken("12.8 for 0.7.0", _stack("0.7.0"), an_error("flashinfer-python 0.7.0", "12.9")),
    broken(
        "12.8 for 0.7.2 on a machine with 12.0 and 12.1: nvcc 12.8 does not know 12.1, and 12.0 is taken",
        _stack("0.6.18.post1", driver=driver(gpus=(gpu(), gpu(1, "NVIDIA GB10", "12.1")))),
        an_error("flashinfer-python 0.6.18.post1", "compute capability 12.0 and"),
    ),
    broken(
        "no nvcc, and torch is built with 12.8",
        _stack("0.6.7.post2", toolkits=(), consumers=(flashinfer("0.6.7", None),)),
        an_error("flashinfer-python 0.6.7.post2", "CUDA 12.8 of torch"),
    ),
    broken(
        "prebuilt modules spare the compiler, not the question",
        _stack(
            "0.6.7.post2",
            distributions=packages(
                flashinfer_python="0.6.7.post2", flashinfer_jit_cache="0.6.7.post2+cu128", torch="2.9.1"
            ),
        ),
        a_warning("flashinfer-python 0.6.7.post2", "12.9"),
    ),
    look_alike("12.8 for 0.7.1 on 12.0", _stack("0.7.1")),
    look_alike("12.8 for 0.6.3, which leaves it to nvcc", _stack("0.6.3")),
    look_alike(
        "12.8 for 0.6.7 on 9.0", _stack("0.6.7.post2", driver=driver(gpus=(gpu(name="NVIDIA H100", cc="9.0"),)))
    ),
    look_alike(
        "the architecture is named with its letter",
        _stack("0.6.7.post2", environment={"FLASHINFER_CUDA_ARCH_LIST": "12.0a"}),
    ),
    look_alike("12.6 does not know 12.0 at all: another check says so", _stack("0.6.7.post2", "12.6")),
    look_alike("12.8 does not know 12.1 at all", _stack("0.7.2", driver=_SPARK)),
    unknown("no GPU is known", _stack("0.6.7.post2", host=host_without_gpu(), driver=no_driver())),
    unknown(
        "nvcc's release is not known",
        _stack("0.6.7.post2", toolkits=(toolkit(HOME, "12.8", releases={"nvcc": None}, layout="system"),)),
    ),
    not_applicable("no FlashInfer", snapshot(torch=Unknown("not installed")), request=what_if("12.0")),
    not_applicable("a FlashInfer that is not in the table", _stack("0.4.1")),
]

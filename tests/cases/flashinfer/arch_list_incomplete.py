"""Cases of flashinfer.arch-list-incomplete."""

from typing import Any

from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import driver, flashinfer, gpu, host_without_gpu, no_driver, packages, snapshot
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "flashinfer.arch-list-incomplete"

_VARIABLE = "FLASHINFER_CUDA_ARCH_LIST"
_SPARK = driver("580.142", gpus=(gpu(name="NVIDIA GB10", cc="12.1"),))


def _stack(value: str, version: str = "0.7.2", **changes: Any) -> Snapshot:
    return snapshot(
        distributions=packages(flashinfer_python=version),
        consumers=(flashinfer(version),),
        environment={_VARIABLE: value},
        **changes,
    )


CASES = [
    healthy("12.0a on 12.0", _stack("12.0a")),
    healthy("more than is here", _stack("9.0a 10.0a 12.0f")),
    broken("another GPU's", _stack("10.0a"), an_error(_VARIABLE, "does not cover compute capability 12.0", "10.0a")),
    broken("12.0a on 12.1", _stack("12.0a", driver=_SPARK), an_error(_VARIABLE, "12.1")),
    broken(
        "separated by a semicolon",
        _stack("12.0a;12.1a"),
        an_error(_VARIABLE, "'12.0a;12.1a' is no architecture", "importing FlashInfer fails"),
    ),
    broken("two spaces", _stack("9.0a  12.0a"), an_error(_VARIABLE, "'' is no architecture")),
    broken("as nvcc writes it", _stack("sm_120a"), an_error(_VARIABLE, "sm_120a")),
    broken("set and empty", _stack(""), an_error(_VARIABLE)),
    broken(
        "no letter with a FlashInfer that adds none",
        _stack("12.0", "0.6.6"),
        a_warning(_VARIABLE, "no letter", "FlashInfer 0.6.6"),
    ),
    look_alike("no letter with one that adds it", _stack("12.0", "0.6.7")),
    look_alike("the family's code on 12.1", _stack("12.0f", driver=_SPARK)),
    look_alike("12.0 becomes the family's code", _stack("12.0", driver=_SPARK)),
    look_alike("code without a letter on Ada", _stack("8.9", driver=driver(gpus=(gpu(name="NVIDIA L40S", cc="8.9"),)))),
    unknown("the GPU is not known", _stack("12.0a", host=host_without_gpu(), driver=no_driver())),
    not_applicable("not set", snapshot(distributions=packages(flashinfer_python="0.7.2"))),
    not_applicable("no FlashInfer", snapshot(environment={_VARIABLE: "10.0a"})),
]

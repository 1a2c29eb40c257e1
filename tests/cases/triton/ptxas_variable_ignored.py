"""Cases of triton.ptxas-variable-ignored."""

from typing import Any

from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import driver, gpu, host_without_gpu, no_driver, packages, snapshot, triton
from tests.cases.harness import a_note, a_warning, broken, healthy, look_alike, not_applicable, unknown

CHECK = "triton.ptxas-variable-ignored"

OLD, NEW = "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"

_SPARK = driver("580.142", gpus=(gpu(name="NVIDIA GB10", cc="12.1"),))
_MIXED = driver(gpus=(gpu(), gpu(1, "NVIDIA L40S", "8.9")))


def _stack(version: str, *names: str, **changes: Any) -> Snapshot:
    environment = dict.fromkeys(names, "/usr/local/cuda-13.0/bin/ptxas")
    return snapshot(
        consumers=(triton(version),), distributions=packages(triton=version), environment=environment, **changes
    )


CASES = [
    healthy("the name that 3.8 reads", _stack("3.8.0", NEW)),
    healthy("the name that 3.5 reads", _stack("3.5.1", OLD)),
    broken(
        "the old name with 3.8",
        _stack("3.8.0", OLD),
        a_note(OLD, "reads TRITON_PTXAS_BLACKWELL_PATH", "knows this GPU"),
    ),
    broken(
        "the old name with 3.6 on 11.0",
        _stack("3.6.0", OLD, driver=driver(gpus=(gpu(name="NVIDIA Thor", cc="11.0"),))),
        a_warning(OLD, "does not know 11.0"),
    ),
    broken(
        "the new name with 3.5 on 12.1",
        _stack("3.5.1", NEW, driver=_SPARK),
        a_warning(NEW, "reads TRITON_PTXAS_PATH", "does not know 12.1"),
    ),
    broken("any name with 3.3", _stack("3.3.1", OLD), a_note(OLD, "no variable that a shell can set")),
    look_alike("both names", _stack("3.8.0", OLD, NEW)),
    look_alike("the old name where an older GPU is there too", _stack("3.8.0", OLD, driver=_MIXED)),
    look_alike("the old name on 9.0", _stack("3.8.0", OLD, driver=driver(gpus=(gpu(name="NVIDIA H100", cc="9.0"),)))),
    unknown("the GPU is not known", _stack("3.8.0", OLD, host=host_without_gpu(), driver=no_driver())),
    not_applicable("no variable", _stack("3.8.0")),
    not_applicable("no Triton", snapshot(environment={OLD: "/opt/ptxas"})),
]

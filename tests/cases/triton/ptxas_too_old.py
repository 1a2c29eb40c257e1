"""Cases of triton.ptxas-too-old."""

from typing import Any

from sm120kit.snapshot.facts import Unknown
from tests.builders import (
    CU13,
    driver,
    gpu,
    host_without_gpu,
    known,
    no_driver,
    packages,
    snapshot,
    toolkit,
    triton,
)
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "triton.ptxas-too-old"

_SPARK = driver("580.142", gpus=(gpu(name="NVIDIA GB10", cc="12.1"),))
_SERVED = packages(sglang="0.5.23", torch="2.14.1", triton="3.5.1")
_NAMED: dict[str, Any] = {"found_via": "TRITON_PTXAS_BLACKWELL_PATH", "nvcc": known(f"{CU13}/bin/ptxas")}

CASES = [
    healthy("3.8 on 12.0", snapshot(consumers=(triton(),))),
    healthy("3.3 on 12.0", snapshot(consumers=(triton("3.3.1"),))),
    broken(
        "3.5 on 12.1, with an engine",
        snapshot(consumers=(triton("3.5.1"),), driver=_SPARK, distributions=_SERVED),
        an_error("triton 3.5.1", "release 12.8", "does not know compute capability 12.1", "sglang runs its kernels"),
    ),
    broken(
        "3.5 on 12.1, with torch alone",
        snapshot(consumers=(triton("3.5.1"),), driver=_SPARK),
        a_warning("triton 3.5.1", "torch.compile needs it"),
    ),
    broken(
        "3.2 on 12.0",
        snapshot(consumers=(triton("3.2.0"),), distributions=packages(vllm="0.7.3")),
        an_error("triton 3.2.0", "12.0", "vllm"),
    ),
    broken(
        "3.6 on 11.0",
        snapshot(consumers=(triton("3.6.0"),), driver=driver(gpus=(gpu(name="NVIDIA Thor", cc="11.0"),))),
        a_warning("triton 3.6.0", "11.0"),
    ),
    broken(
        "a variable names one that is too old",
        snapshot(consumers=(triton(**_NAMED),), driver=_SPARK, toolkits=(toolkit(release="12.8"),)),
        a_warning("triton 3.8.0", f"{CU13}/bin/ptxas", "release 12.8"),
    ),
    look_alike("a variable names a newer one", snapshot(consumers=(triton("3.6.0", **_NAMED),), driver=_SPARK)),
    look_alike("3.6 on 12.1", snapshot(consumers=(triton("3.6.0"),), driver=_SPARK)),
    unknown(
        "a variable names one of which nothing is known",
        snapshot(consumers=(triton(found_via="TRITON_PTXAS_PATH", nvcc=known("/opt/ptxas")),)),
    ),
    unknown("its own is missing", snapshot(consumers=(triton(nvcc=Unknown("triton's own is missing")),))),
    unknown("the GPU is not known", snapshot(consumers=(triton(),), host=host_without_gpu(), driver=no_driver())),
    not_applicable("no Triton", snapshot()),
    not_applicable(
        "no Blackwell GPU",
        snapshot(consumers=(triton("3.2.0"),), driver=driver(gpus=(gpu(name="NVIDIA H100", cc="9.0"),))),
    ),
]

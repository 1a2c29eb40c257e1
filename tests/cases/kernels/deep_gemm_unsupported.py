"""Cases of kernels.deep-gemm-unsupported."""

from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import distribution, known, snapshot
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown
from tests.servers import asked

CHECK = "kernels.deep-gemm-unsupported"
FP8 = "--fp8-gemm-backend deep_gemm"
MOE = "--moe-runner-backend deep_gemm"


def stack(sglang: str, deep_gemm: str = "") -> Snapshot:
    """A venv with SGLang and, unless it is empty, DeepGEMM."""
    found = [distribution("sglang", sglang)]
    if deep_gemm:
        found.insert(0, distribution("sgl-deep-gemm", deep_gemm))
    return snapshot(distributions=known(tuple(found)))


CASES = [
    broken(
        "0.5.12 with the DeepGEMM that it pins",
        stack("0.5.12", "0.1.0"),
        an_error(FP8, "does not run", "Unknown recipe"),
        request=asked(FP8, sglang="0.5.12"),
    ),
    broken(
        "the MoE path before 0.5.20 is silently wrong",
        stack("0.5.18", "0.1.5.post3"),
        an_error(MOE, "gives wrong results"),
        request=asked(MOE, sglang="0.5.18", gpu="12.1"),
    ),
    broken(
        "an old DeepGEMM under a new SGLang",
        stack("0.5.23", "0.1.3"),
        an_error(MOE, "Unknown recipe"),
        request=asked(MOE),
    ),
    broken(
        "flashinfer's DeepGEMM is for Hopper",
        stack("0.5.23", "0.2.3.post2"),
        an_error("--fp8-gemm-backend flashinfer_deepgemm", "Hopper"),
        request=asked("--fp8-gemm-backend flashinfer_deepgemm"),
    ),
    broken(
        "it is not installed",
        stack("0.5.12"),
        an_error(FP8, "is not installed"),
        request=asked(FP8, sglang="0.5.12", gpu="10.0"),
    ),
    healthy("0.5.23 with the DeepGEMM that it pins", stack("0.5.23", "0.2.3.post2"), request=asked(f"{FP8} {MOE}")),
    healthy("B200", stack("0.5.12", "0.1.0"), request=asked(f"{FP8} {MOE}", sglang="0.5.12", gpu="10.0")),
    look_alike("another target's packages prove nothing", snapshot(), request=asked(FP8, gpu="10.0")),
    look_alike("flashinfer's DeepGEMM on Hopper", stack("0.5.23", "0.2.3.post2"),
               request=asked("--fp8-gemm-backend flashinfer_deepgemm", gpu="9.0")),
    unknown("kernels that this SGLang does not look for", stack("0.5.18", "0.1.5.post3"),
            request=asked(FP8, sglang="0.5.18")),
    unknown("12.1", stack("0.5.23", "0.2.3.post2"), request=asked(FP8, gpu="12.1")),
    unknown("an SGLang newer than the tables", stack("0.6.0", "0.3.0"), request=asked(FP8, sglang="0.6.0")),
    not_applicable("it is not asked for", stack("0.5.12", "0.1.0"), request=asked("--fp8-gemm-backend triton")),
    not_applicable("nothing is asked for", stack("0.5.12", "0.1.0")),
]  # fmt: skip

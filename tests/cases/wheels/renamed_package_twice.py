"""Cases of wheels.renamed-package-twice."""

from sm120kit.snapshot.facts import Unknown
from tests.builders import packages, snapshot
from tests.cases.harness import a_warning, broken, healthy, look_alike, unknown

CHECK = "wheels.renamed-package-twice"

CASES = [
    healthy("the new name alone", snapshot(distributions=packages(sglang_kernel="0.4.10", torch="2.14.1"))),
    healthy("the old name alone", snapshot(distributions=packages(sgl_kernel="0.3.21", torch="2.9.1"))),
    broken(
        "an upgrade from 0.5.9 to 0.5.10 left both",
        snapshot(distributions=packages(sgl_kernel="0.3.21", sglang="0.5.10", sglang_kernel="0.4.1")),
        a_warning(
            "sgl-kernel and sglang-kernel", "both install sgl_kernel", "sgl-kernel 0.3.21", "sglang-kernel 0.4.1"
        ),
    ),
    broken(
        "DeepGEMM inside an old kernel wheel and by itself",
        snapshot(distributions=packages(sgl_deep_gemm="0.1.0", sgl_kernel="0.3.21")),
        a_warning("sgl-kernel and sgl-deep-gemm", "deep_gemm"),
    ),
    broken(
        "Triton under both names",
        snapshot(distributions=packages(pytorch_triton="3.5.0", triton="3.5.1")),
        a_warning("pytorch-triton and triton"),
    ),
    look_alike(
        "the new kernels beside their own DeepGEMM",
        snapshot(distributions=packages(sgl_deep_gemm="0.2.3.post2", sglang="0.5.23", sglang_kernel="0.4.10")),
    ),
    look_alike(
        "names that only look alike",
        snapshot(distributions=packages(sgl_flash_mla="1.0.0", sglang="0.5.23", sglang_router="0.3.2")),
    ),
    unknown("the packages cannot be listed", snapshot(distributions=Unknown("permission denied"))),
]

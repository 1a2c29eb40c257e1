"""Cases of flashinfer.companion-mismatch."""

from sm120kit.snapshot.facts import Unknown
from tests.builders import packages, snapshot
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "flashinfer.companion-mismatch"

CASES = [
    healthy(
        "the set of SGLang 0.5.12",
        snapshot(distributions=packages(flashinfer_cubin="0.6.11.post1", flashinfer_python="0.6.11.post1")),
    ),
    broken(
        "a cubin that an upgrade left behind",
        snapshot(distributions=packages(flashinfer_cubin="0.6.13", flashinfer_python="0.6.14")),
        an_error(
            "flashinfer-cubin 0.6.13", "does not belong to flashinfer-python 0.6.14", "importing FlashInfer fails"
        ),
    ),
    broken(
        "the same with 0.7.2, which goes on without it",
        snapshot(distributions=packages(flashinfer_cubin="0.6.12", flashinfer_python="0.7.2")),
        a_warning("flashinfer-cubin 0.6.12", "passed over"),
    ),
    broken(
        "a jit-cache of another version",
        snapshot(distributions=packages(flashinfer_jit_cache="0.6.16+cu130", flashinfer_python="0.6.18.post1")),
        an_error("flashinfer-jit-cache 0.6.16+cu130"),
    ),
    broken(
        "both",
        snapshot(
            distributions=packages(
                flashinfer_cubin="0.7.0", flashinfer_jit_cache="0.7.0+cu130", flashinfer_python="0.7.1"
            )
        ),
        an_error("flashinfer-cubin 0.7.0"),
        an_error("flashinfer-jit-cache 0.7.0+cu130"),
    ),
    broken(
        "the question is switched off",
        snapshot(
            distributions=packages(flashinfer_cubin="0.6.13", flashinfer_python="0.6.14"),
            environment={"FLASHINFER_DISABLE_VERSION_CHECK": "1"},
        ),
        a_warning("flashinfer-cubin 0.6.13", "taken all the same"),
    ),
    look_alike(
        "a jit-cache for CUDA 13.0 beside its base version",
        snapshot(distributions=packages(flashinfer_jit_cache="0.7.2.post1+cu130", flashinfer_python="0.7.2.post1")),
    ),
    look_alike(
        "a jit-cache whose version begins with that of 0.6.7",
        snapshot(distributions=packages(flashinfer_jit_cache="0.6.7.post2+cu130", flashinfer_python="0.6.7")),
    ),
    unknown("the packages cannot be listed", snapshot(distributions=Unknown("permission denied"))),
    not_applicable("FlashInfer alone", snapshot(distributions=packages(flashinfer_python="0.7.2"))),
    not_applicable("a cubin alone", snapshot(distributions=packages(flashinfer_cubin="0.6.12"))),
]

"""Cases of toolkit.release-mismatch: every pair of the measured matrix, and skew that compiles."""

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.snapshot import Snapshot
from sm120kit.snapshot.types.toolkits import Toolkit
from tests.builders import CU13, distribution, flashinfer, known, named, sglang, snapshot, toolkit, torch_extensions
from tests.cases.harness import a_note, a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "toolkit.release-mismatch"

_CCCL = {"13.0": "3.0.1", "13.1": "3.1.4", "13.2": "3.2.0", "13.3": "3.3.4", "13.5": "3.5.0"}
_SYSTEM = "/usr/local/cuda-13.0"


def _mixed(release: str, *, cccl: str | None = "", **releases: str | None) -> Toolkit:
    """A toolkit of ``release`` in which the parts named are of others (_ for -); ``cccl`` "" = that of the release."""
    return toolkit(
        release=release,
        releases={name.replace("_", "-"): own for name, own in releases.items()},
        cccl=_CCCL.get(release, "2.8.2") if cccl == "" else cccl,
    )


def _named(release: str, *, cccl: str | None = "", **releases: str | None) -> Snapshot:
    return named(toolkits=(_mixed(release, cccl=cccl, **releases),))


_WITHOUT_FINGERPRINT = Unknown("host_runtime.h cannot be read")

CASES = [
    healthy("one release", named()),
    healthy("patch levels differ inside one release", _named("13.0", nvcc="13.0.88", runtime_headers="13.0.96")),
    healthy(
        "a system toolkit whose cicc and ptxas tell no release",
        named(
            _SYSTEM, toolkits=(toolkit(_SYSTEM, layout="system", releases={"cicc": None, "ptxas": None, "crt": None}),)
        ),
    ),
    look_alike("CCCL of another release alone, newer", _named("13.0", cccl="3.5.0")),
    look_alike("CCCL of another release alone, older", _named("13.2", cccl="3.0.1")),
    look_alike("crt of unknown release whose __cudaLaunch fits", _named("13.5", crt=None)),
    look_alike(
        "13.2 on disk beside torch's 13.0 runtime: two trees",
        snapshot(
            toolkits=(
                toolkit("/usr/local/cuda-13.2", "13.2", layout="system", cccl="3.2.0"),
                toolkit(release="13.0", drop=("nvcc", "cicc", "ptxas", "crt")),
            ),
            consumers=(flashinfer(home="/usr/local/cuda-13.2"),),
        ),
    ),
    look_alike(
        "cicc is absent, which toolkit.incomplete says",
        named(toolkits=(toolkit(drop=("cicc", "libdevice")),)),
    ),
    # nvcc and crt across 13.0 | 13.1
    broken(
        "nvcc 13.0, crt 13.2", _named("13.0", crt="13.2"), an_error(CU13, "2 arguments", "include/crt, of 13.2) take 1")
    ),
    broken("nvcc 13.0, crt 13.5", _named("13.0", crt="13.5"), an_error(CU13, "nvidia-cuda-crt 13.5", "takes 1")),
    broken(
        "nvcc 13.2, crt 13.0",
        _named("13.2", crt="13.0"),
        an_error(CU13, "1 argument and the compiler's own headers (include/crt, of 13.0) take 2"),
    ),
    broken(
        "nvcc 13.5, crt 13.0",
        _named("13.5", crt="13.0"),
        an_error(CU13, "1 argument and the compiler's own headers (include/crt, of 13.0) take 2"),
    ),
    broken(
        "crt of unknown release whose __cudaLaunch does not fit",
        named(toolkits=(toolkit(releases={"crt": None}, crt_launch_arguments=known(1)),)),
        an_error(CU13, "own headers (include/crt, of unknown release) take 1", "__cudaLaunch takes 1"),
    ),
    broken("nvcc 12.9, crt 13.0", _named("12.9", crt="13.0"), an_error(CU13, "include/crt, of 13.0) take 2")),
    # cicc against ptxas and nvcc
    broken("nvcc 13.0, cicc 13.5", _named("13.0", cicc="13.5"), an_error(CU13, "newer PTX than ptxas 13.0", "PTX 9.5")),
    broken("nvcc 13.2, cicc 13.5", _named("13.2", cicc="13.5"), an_error(CU13, "newer PTX than ptxas 13.2")),
    broken(
        "nvcc 13.2, cicc 13.0",
        _named("13.2", cicc="13.0"),
        an_error(CU13, "cicc 13.0 writes", "include/crt, of 13.2) take 1"),
    ),
    broken(
        "nvcc 13.5, cicc 13.1: an option that it refuses",
        _named("13.5", cicc="13.1"),
        an_error(CU13, "cicc knows from 13.2 on, and this one is 13.1"),
    ),
    broken(
        "nvcc 13.2 with cicc and crt of 13.0 compiles, as was measured",
        _named("13.2", cicc="13.0", crt="13.0"),
        a_note(CU13, "cicc 13.0"),
    ),
    broken("nvcc 13.5, cicc 13.2 compiles", _named("13.5", cicc="13.2"), a_note(CU13, "cicc 13.2 beside nvcc 13.5")),
    broken("nvcc 13.5, crt 13.2 compiles", _named("13.5", crt="13.2"), a_note(CU13, "crt 13.2 beside nvcc 13.5")),
    # runtime headers against nvcc, where CCCL minds
    broken(
        "nvcc 13.0, headers 13.2",
        _named("13.0", runtime_headers="13.2"),
        an_error(CU13, "headers are of 13.2 under nvcc 13.0", "CCCL 3.0.1 refuses"),
    ),
    broken(
        "nvcc 13.2, headers 13.0",
        _named("13.2", runtime_headers="13.0"),
        an_error(CU13, "headers are of 13.0 under nvcc 13.2"),
    ),
    broken(
        "FlashInfer's own CCCL minds too",
        snapshot(toolkits=(_mixed("13.5", runtime_headers="13.0"),), consumers=(flashinfer("0.7.2.post1"),)),
        an_error(CU13, "CCCL 3.6.0 (brought by flashinfer)", "used by flashinfer"),
    ),
    broken(
        "headers of another major",
        _named("13.0", runtime_headers="12.8"),
        an_error(CU13, "headers are of 12.8 under nvcc 13.0"),
    ),
    broken(
        "headers of another minor under CCCL 2.8, which does not check",
        _named("12.9", runtime_headers="12.8"),
        a_note(CU13, "CCCL 2.8.2 does not check"),
    ),
    broken(
        "no CCCL yet: the pair fails behind its absence",
        _named("13.0", cccl=None, runtime_headers="13.2"),
        an_error(CU13, "as soon as the missing CCCL is there"),
    ),
    broken(
        "CCCL's check is switched off for all of nvcc",
        named(
            toolkits=(_mixed("13.2", runtime_headers="13.0"),),
            environment={"NVCC_APPEND_FLAGS": "-DCCCL_DISABLE_CTK_COMPATIBILITY_CHECK"},
        ),
        a_note(CU13, "CCCL_DISABLE_CTK_COMPATIBILITY_CHECK is set"),
    ),
    broken(
        "CCCL 3.0.1 has no such switch",
        named(
            toolkits=(_mixed("13.0", runtime_headers="13.2"),),
            environment={"NVCC_APPEND_FLAGS": "-DCCCL_DISABLE_CTK_COMPATIBILITY_CHECK"},
        ),
        an_error(CU13, "CCCL 3.0.1 refuses"),
    ),
    # all at once
    broken(
        "pip install nvidia-cuda-nvcc==13.0.88: all failing pairs, also the hidden one",
        _named("13.0", cccl=None, crt="13.5", cicc="13.5", runtime_headers="13.5"),
        an_error(
            CU13,
            "newer PTX than ptxas 13.0",
            "behind that, the compiler's own headers (include/crt, of 13.5)",
            "as soon as the missing CCCL is there",
        ),
    ),
    broken(
        "only torch extensions are built with it",
        snapshot(toolkits=(_mixed("13.0", crt="13.5"),), consumers=(torch_extensions(),)),
        a_warning(CU13, "used by torch.utils.cpp_extension"),
    ),
    broken(
        "a jit-cache spares FlashInfer the compiler",
        snapshot(
            toolkits=(_mixed("13.0", crt="13.5"),),
            consumers=(flashinfer(),),
            distributions=known(
                (
                    distribution("flashinfer-jit-cache", "0.7.2.post1+cu130"),
                    distribution("flashinfer-python", "0.7.2.post1"),
                )
            ),
        ),
        a_warning(CU13, "crt 13.5"),
    ),
    unknown("nvcc's release is unknown", _named("13.0", nvcc=None)),
    unknown("cicc of a wheel was changed", _named("13.0", cicc=None)),
    unknown(
        "neither crt's release nor its form is known",
        named(toolkits=(toolkit(releases={"crt": None}, crt_launch_arguments=_WITHOUT_FINGERPRINT),)),
    ),
    not_applicable("a mixture that nobody takes", snapshot(toolkits=(_mixed("13.0", crt="13.5"),))),
    not_applicable("a runtime without nvcc", snapshot(consumers=(sglang(),), toolkits=(toolkit(drop=("nvcc",)),))),
]

"""Cases of wheels.requirement-missing."""

from sm120kit.snapshot.facts import Fact, Unknown
from sm120kit.snapshot.types.packages import Lacking
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import known, packages, snapshot
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "wheels.requirement-missing"


def stack(distribution: str, *lines: str, **installed: str) -> Snapshot:
    """An environment with one package that lacks what these lines require."""
    name, _, version = distribution.partition(" ")
    lacking: Fact[tuple[Lacking, ...]] = known((Lacking(distribution, f"/site/{name}/METADATA", lines),))
    return snapshot(distributions=packages(**{name.replace("-", "_"): version}, **installed), lacking=lacking)


CASES = [
    healthy("everything is there", snapshot(lacking=known(()))),
    broken(
        "FlashInfer was installed with --no-deps",
        stack("flashinfer-python 0.6.7", "torch", "nvidia-cudnn-frontend>=1.13.0"),
        a_warning(
            "flashinfer-python",
            "requires torch, nvidia-cudnn-frontend, which are not installed",
            "nvidia-cudnn-frontend>=1.13.0",
        ),
    ),
    broken(
        "SGLang without torch",
        stack("sglang 0.5.12", "torch==2.9.1", "numpy"),
        an_error("sglang", "requires torch, numpy", "will not start"),
    ),
    broken("SGLang without numpy", stack("sglang 0.5.12", "numpy"), a_warning("sglang", "numpy, which is not")),
    look_alike("for another system", stack("torch 2.9.1", 'colorama; sys_platform == "win32"')),
    look_alike("for another Python", stack("sglang 0.5.12", 'tomli; python_version < "3.8"')),
    look_alike("under its new name", stack("sglang 0.5.9", "sgl-kernel==0.3.21", sglang_kernel="0.4.1")),
    look_alike("under its old name", stack("sglang 0.5.12", "sglang_kernel", sgl_kernel="0.3.21")),
    not_applicable("one folder was named", snapshot(lacking=Unknown("one folder of packages was named"))),
    unknown("the packages cannot be listed", snapshot(distributions=Unknown("permission denied"))),
]

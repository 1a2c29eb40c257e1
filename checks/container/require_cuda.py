"""The image demands a newer driver or another GPU than the one it is meant for, and will not be started

## What it finds
A condition in NVIDIA_REQUIRE_CUDA (or another NVIDIA_REQUIRE_ variable of the image) that the named driver and GPU do
not meet.

## Why it matters
The NVIDIA container toolkit evaluates these variables before the container starts, and refuses: `nvidia-container-cli:
requirement error: unsatisfied condition: cuda>=13.0`. Images that are built on nvidia/cuda inherit them. Whether the
programs inside would run is another question (driver.too-old): minor releases of CUDA run on the oldest driver of their
major, and the condition names the release of the base image.

## How it is found
The variables are read as nvidia-container-cli reads them: alternatives with spaces between them, conditions with
commas. The CUDA release that a driver serves stands in a table. A GPU's brand is not told by its name alone, so a
condition on it counts only where every brand that such a board may have gives the same answer. It applies to images,
and to a running container where `--driver` names another machine's driver.

## Remedy
A newer driver on the host. Where the programs are known to run on the older one, lower the condition in the image.

## Sources
- NVIDIA/libnvidia-container: src/cli/dsl.c, src/cli/configure.c
- NVIDIA/nvidia-container-toolkit: internal/config/image/cuda_image.go (GetRequirements, HasDisableRequire)
- checks/tables/driver_cuda.toml
- NVIDIA/nvidia-container-toolkit#152; MauriceNino/dashdot#1226; NVIDIA/nvidia-docker#1442
"""

from collections.abc import Iterator

from sm120kit.diagnosis import CannotTell, Case, Finding, Known, Manual, NotApplicable, Unknown, at, check, error
from sm120kit.diagnosis.gpus import gpu_models
from sm120kit.diagnosis.image_requirements import BRANDS, Machine, cuda_served, is_met, requirements_of

_SHOWN = 160
"""Characters of a condition in a message: those of nvidia/cuda have thousands."""


@check("container.require-cuda")
def require_cuda(case: Case) -> Iterator[Finding | CannotTell]:
    requirements = requirements_of(case.snapshot.environment)
    if not requirements:
        raise NotApplicable("no variable of the target demands a driver")
    if case.snapshot.target.live and not case.request.driver:
        raise NotApplicable("the container runs already, and no other driver was named by --driver")
    driver = case.driver_version
    if isinstance(driver, Unknown):
        yield CannotTell(", ".join(requirements), "no driver is named: give the one it is meant for with --driver")
        return
    for name, requirement in requirements.items():
        yield from _judged(case, name, requirement, driver)


def _judged(case: Case, name: str, requirement: str, driver: Known[str]) -> Iterator[Finding | CannotTell]:
    shown = requirement if len(requirement) <= _SHOWN else f"{requirement[:_SHOWN]} …"
    try:
        answers = [is_met(requirement, machine) for machine in _machines(case, driver.value)]
    except ValueError as odd:
        yield error(
            name,
            f"{name} of the image holds the condition {str(odd)!r}, which nvidia-container-cli cannot read: no "
            "container of it is started",
            [at(f"{name}={shown}", "environment of the image")],
            [Manual(f"Mend {name} in the image")],
        )
        return
    if False in answers:
        served, exact = cuda_served(driver.value)
        first = requirement.split()[0]
        serves = f", which serves CUDA {served}" + ("" if exact else " or newer") if served else ""
        yield error(
            name,
            f"the image demands {first}, and driver {driver.value}{serves} does not meet it: the container will not be "
            "started",
            [at(f"{name}={shown}", "environment of the image"), at(f"driver {driver.value}", driver.source.where)],
            [
                Manual(f"Install a driver on the host that meets {first}"),
                Manual(
                    f"Or, where the programs are known to run on it, set {name} in the image to what they need",
                    (f'ENV {name}="cuda>={served.partition(".")[0]}.0"',) if served else (),
                ),
            ],
        )
    elif None in answers:
        yield CannotTell(name, f"whether driver {driver.value} and the GPU meet {shown} is not known")


def _machines(case: Case, driver: str) -> list[Machine]:
    """One for each kind of GPU that was named; one of which nothing is known where none was."""
    boards = {row.name: row.board for row in gpu_models()}
    named = [
        Machine(driver, gpu.compute_capability, BRANDS.get(boards.get(gpu.name, ""), frozenset()))
        for gpu in case.request.gpus
    ]
    return named or [Machine(driver)]

"""Commands that people will copy: exact versions that belong together, in the way the toolkit was installed."""

from __future__ import annotations

import pytest

from sm120kit.diagnosis.alternatives import misfit, other_toolkits
from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.parts import missing_parts
from sm120kit.diagnosis.releases import Release
from sm120kit.diagnosis.remedies import cccl_package, install_toolkit, reinstall_parts
from tests.builders import driver, gpu, sglang, snapshot, toolkit, torch_build

R130, R129 = Release(13, 0), Release(12, 9)


@pytest.mark.parametrize(
    ("layout", "release", "commands"),
    [
        ("unknown", R130, ('pip install "cuda-toolkit[nvcc,cccl]==13.0.3.0"',)),
        ("wheel-cu13", Release(13, 2), ('pip install "cuda-toolkit[nvcc,cccl]==13.2.1"',)),
        ("wheel-cu12", R129, ("conda install -c nvidia cuda-toolkit=12.9", "apt-get install cuda-toolkit-12-9")),
        ("conda", R130, ("conda install -c nvidia cuda-toolkit=13.0",)),
        ("system", R130, ("apt-get install cuda-toolkit-13-0",)),
        ("unknown", Release(13, 9), ()),
        ("unknown", None, ()),
    ],
)
def test_whole_toolkit(layout: str, release: Release | None, commands: tuple[str, ...]) -> None:
    assert install_toolkit(release, layout).commands == commands


def test_new_wheels_are_named_to_the_consumers() -> None:
    remedy = install_toolkit(R130, site_packages="/srv/my venv/site-packages")
    assert remedy.commands[-1] == "export CUDA_HOME='/srv/my venv/site-packages/nvidia/cu13'"


@pytest.mark.parametrize(
    ("layout", "release", "commands"),
    [
        (
            "wheel-cu13",
            R130,
            ("pip install --force-reinstall --no-deps nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96",),
        ),
        ("conda", R130, ("conda install --force-reinstall -c nvidia cuda-nvvm-tools=13.0 cuda-cudart-dev=13.0",)),
        ("system", R130, ("apt-get install --reinstall libnvvm-13-0 cuda-cudart-dev-13-0",)),
        ("system", R129, ("apt-get install --reinstall cuda-nvvm-12-9 cuda-cudart-dev-12-9",)),
        ("distro", R129, ("apt-get install --reinstall nvidia-cuda-toolkit",)),
        ("view", R130, ()),
        ("wheel-cu13", None, ()),
    ],
)
def test_missing_parts(layout: str, release: Release | None, commands: tuple[str, ...]) -> None:
    broken = toolkit(layout=layout, drop=("cicc", "runtime-headers"))
    assert reinstall_parts(broken, release, missing_parts(broken)).commands == commands


@pytest.mark.parametrize(
    ("layout", "release", "commands"),
    [
        ("wheel-cu13", Release(13, 5), ("pip install nvidia-cuda-cccl==13.3.5.0.6",)),
        ("conda", R130, ("conda install -c nvidia cuda-cccl=13.0",)),
        ("system", R130, ("apt-get install cuda-cccl-13-0",)),
        ("distro", R130, ()),
        ("unknown", None, ()),
    ],
)
def test_cccl(layout: str, release: Release | None, commands: tuple[str, ...]) -> None:
    assert cccl_package(toolkit(layout=layout), release).commands == commands


def test_only_a_whole_and_fitting_toolkit_is_offered() -> None:
    good = toolkit("/opt/good", layout="system")
    case = Case(
        snapshot(
            toolkits=(
                toolkit(drop=("cicc",)),
                toolkit("/opt/old", "12.8", layout="system"),
                toolkit("/opt/mixed", releases={"crt": "13.5"}),
                toolkit("/opt/runtime", drop=("nvcc",)),
                good,
            ),
            consumers=(sglang(),),
        )
    )
    assert [remedy.commands for remedy in other_toolkits(case)] == [("export CUDA_HOME=/opt/good",)]
    assert other_toolkits(case, ["/opt/good"]) == []


def test_misfit_names_the_gpu_before_torch() -> None:
    case = Case(snapshot(driver=driver(gpus=[gpu(cc="12.1")]), torch=torch_build()))
    assert misfit(case, toolkit(release="12.8")) == "it cannot compile for compute capability 12.1"
    assert misfit(case, toolkit(release="12.9")) == "it is of CUDA 12, while torch was built with CUDA 13.0"
    assert misfit(case, toolkit(release="13.5")) == ""

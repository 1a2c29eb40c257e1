"""Whole sets of real wheels: the doctor has nothing to say against them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import require_program
from tests.wheels.doctor import doctor, env_file
from tests.wheels.trees import RUNTIME_WHEELS, tree
from tests.wheels.variants import HEALTHY, make

pytestmark = pytest.mark.wheels

HEADERS = "toolkit.dev-headers-missing"
"""A warning that is true of these sets: cuBLAS and cuRAND, which bring the headers, are left out for their size."""

FLASHINFER = ("flashinfer-python==0.6.7.post2", "flashinfer-python==0.7.2.post1")


@pytest.mark.parametrize("release", HEALTHY)
def test_a_healthy_toolkit_that_is_named(release: str, tmp_path: Path) -> None:
    require_program("gcc", "c++")
    with make(HEALTHY[release]) as made:
        diagnosis = doctor(
            made.site_packages, "--cuda-home", str(made.cuda_home), "--env-file", str(env_file(tmp_path))
        )
    assert (diagnosis.found, diagnosis.crashed, diagnosis.returncode) == (set(), [], 0)


@pytest.mark.parametrize("flashinfer", FLASHINFER)
@pytest.mark.parametrize("release", HEALTHY)
def test_a_healthy_toolkit_that_flashinfer_takes(release: str, flashinfer: str, tmp_path: Path) -> None:
    require_program("gcc", "c++")
    with make(HEALTHY[release], flashinfer) as made:
        environment = env_file(tmp_path, CUDA_HOME=str(made.cuda_home))
        diagnosis = doctor(
            made.site_packages,
            *("--env-file", str(environment)),
            *("--gpu", "rtx-pro-6000x8", "--driver", "580.95.05"),
        )
    assert (diagnosis.found, diagnosis.errors) == ({HEADERS}, set())
    assert (diagnosis.crashed, diagnosis.returncode) == ([], 0)


@pytest.mark.parametrize("release", RUNTIME_WHEELS)
def test_a_runtime_without_nvcc_is_no_broken_toolkit(release: str, tmp_path: Path) -> None:
    with tree(*RUNTIME_WHEELS[release]) as site_packages:
        diagnosis = doctor(site_packages, "--env-file", str(env_file(tmp_path)))
    assert (diagnosis.found, diagnosis.crashed, diagnosis.returncode) == (set(), [], 0)


@pytest.mark.parametrize("release", RUNTIME_WHEELS)
def test_flashinfer_beside_a_runtime_lacks_its_nvcc_and_nothing_else(release: str, tmp_path: Path) -> None:
    with tree(*RUNTIME_WHEELS[release], FLASHINFER[0]) as site_packages:
        diagnosis = doctor(site_packages, "--env-file", str(env_file(tmp_path)))
    assert (diagnosis.errors, diagnosis.crashed) == ({"toolkit.nvcc-missing"}, [])

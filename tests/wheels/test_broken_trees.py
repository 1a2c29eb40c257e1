"""Real wheels, broken: every fault is named by its own check, those stacked behind it too, and no other error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from tests.programs import require_program
from tests.wheels.doctor import Diagnosis, doctor, env_file
from tests.wheels.variants import BROKEN, Made, make

pytestmark = pytest.mark.wheels

CUDART = "toolkit.cudart-unlinkable"
LIBCUDA = "toolkit.libcuda-stub-missing"
NV_TARGET = "toolkit.nv-target-missing"
MIXED_CCCL = "toolkit.cccl-mixed"
RELEASES = "toolkit.release-mismatch"
INCOMPLETE = "toolkit.incomplete"

OLD_FLASHINFER = "flashinfer-python==0.6.7.post2"
"""Brings no CCCL of its own."""
NEW_FLASHINFER = "flashinfer-python==0.7.2.post1"
"""Brings CCCL 3.6.0 and searches it before the toolkit's folders."""


@dataclass(frozen=True)
class Errors:
    """What is wrong with a variant when ``--cuda-home`` names it; in ``hidden`` what a FlashInfer with its own CCCL
    never meets."""

    all: frozenset[str]
    hidden: frozenset[str] = frozenset()


def _errors(*ids: str, hidden: str = "") -> Errors:
    return Errors(frozenset(ids), frozenset({hidden} - {""}))


EXPECTED: Mapping[str, Errors] = {
    "pure": _errors(CUDART, LIBCUDA),
    "no_lib64": _errors(CUDART, LIBCUDA),
    "no_devlink": _errors(CUDART),
    "no_stub": _errors(LIBCUDA),
    "no_cccl": _errors(NV_TARGET, hidden=NV_TARGET),
    "hdr_newer": _errors(RELEASES),
    "hdr_older": _errors(RELEASES),
    "crt_newer": _errors(RELEASES),
    "crt_older": _errors(RELEASES),
    "nvvm_newer": _errors(RELEASES),
    "nvvm_older": _errors(RELEASES),
    "natural": _errors(RELEASES, NV_TARGET, CUDART, LIBCUDA, hidden=NV_TARGET),
    "no_crt": _errors(INCOMPLETE),
    "no_nvvm": _errors(INCOMPLETE),
    "no_runtime": _errors(INCOMPLETE, CUDART, LIBCUDA),
    "overlay_13.0": _errors(MIXED_CCCL, hidden=MIXED_CCCL),
    "overlay_13.5": _errors(MIXED_CCCL, hidden=MIXED_CCCL),
}

Way = Literal["CUDA_HOME", "nvcc on PATH"]


def test_every_variant_is_expected() -> None:
    assert EXPECTED.keys() == BROKEN.keys()


@pytest.mark.parametrize("name", BROKEN)
def test_named_by_cuda_home(name: str, tmp_path: Path) -> None:
    require_program("gcc", "c++")
    with make(BROKEN[name]) as made:
        diagnosis = doctor(
            made.site_packages, "--cuda-home", str(made.cuda_home), "--env-file", str(env_file(tmp_path))
        )
    _has_exactly(diagnosis, EXPECTED[name].all)


@pytest.mark.parametrize("name", BROKEN)
def test_named_and_lying_in_another_environment(name: str, tmp_path: Path) -> None:
    require_program("gcc", "c++")
    elsewhere = tmp_path / "site-packages"
    elsewhere.mkdir()
    with make(BROKEN[name]) as made:
        diagnosis = doctor(elsewhere, "--cuda-home", str(made.cuda_home), "--env-file", str(env_file(tmp_path)))
    _has_exactly(diagnosis, EXPECTED[name].all)


@pytest.mark.parametrize("way", ["CUDA_HOME", "nvcc on PATH"])
@pytest.mark.parametrize("name", BROKEN)
def test_taken_by_a_flashinfer_without_cccl(name: str, way: Way, tmp_path: Path) -> None:
    require_program("gcc", "c++")
    with make(BROKEN[name], OLD_FLASHINFER) as made:
        diagnosis = _through(way, made, tmp_path)
    _has_exactly(diagnosis, EXPECTED[name].all)


@pytest.mark.parametrize("way", ["CUDA_HOME", "nvcc on PATH"])
@pytest.mark.parametrize("name", BROKEN)
def test_taken_by_a_flashinfer_with_its_own_cccl(name: str, way: Way, tmp_path: Path) -> None:
    require_program("gcc", "c++")
    with make(BROKEN[name], NEW_FLASHINFER) as made:
        diagnosis = _through(way, made, tmp_path)
    _has_exactly(diagnosis, EXPECTED[name].all - EXPECTED[name].hidden)


def _through(way: Way, made: Made, scratch: Path) -> Diagnosis:
    """Let the installed FlashInfer find the toolkit by its own rule."""
    environment = (
        env_file(scratch, CUDA_HOME=str(made.cuda_home))
        if way == "CUDA_HOME"
        else env_file(scratch, made.cuda_home / "bin")
    )
    return doctor(made.site_packages, "--env-file", str(environment))


def _has_exactly(diagnosis: Diagnosis, expected: frozenset[str]) -> None:
    found = [finding for finding in diagnosis.report["findings"] if finding["severity"] == "error"]
    said = "\n".join(f"{finding['check']}: {finding['message']}" for finding in found)
    assert diagnosis.errors == expected, said or "no error was found"
    assert not diagnosis.crashed
    assert diagnosis.returncode == (1 if expected else 0)
    for finding in found:
        assert finding["evidence"]
        assert finding["remedies"]

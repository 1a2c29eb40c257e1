"""Shared objects of the real kernel wheels, judged beside real CUDA wheels and a real torch."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sm120kit.snapshot.elf import open_library, symbol_hash
from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.shared_objects import OF_DRIVER, read_shared_objects
from sm120kit.snapshot.types.packages import SharedObject
from sm120kit.snapshot.wheel_libraries import library_dirs
from tests.programs import require_program
from tests.snapshot.shared_libraries import library
from tests.snapshot.targets import context, install, loader
from tests.wheels.doctor import Diagnosis, doctor, env_file
from tests.wheels.kernels import pick
from tests.wheels.trees import TOOLKIT_WHEELS, add_missing, tree

pytestmark = pytest.mark.wheels

NEW, OLD = "sglang-kernel==0.4.10", "sgl-kernel==0.3.21"
COMMON_OPS = r"sgl_kernel/sm100/common_ops\.abi3\.so"
SM100 = "sgl_kernel/sm100/common_ops.abi3.so"
TORCH = "torch==2.13.0"
TORCH_LIBRARIES = r"torch/lib/lib(c10|torch_cpu)\.so"
CUDA_HALF = ("libc10_cuda.so", "libtorch_cuda.so", "libtorch.so")
WRONG_CUDA, ABI = "wheels.kernel-package-wrong-cuda", "wheels.abi-mismatch"


def needed(requirement: str) -> tuple[str, ...]:
    return open_library(Files(), str(pick(requirement, COMMON_OPS) / SM100)).needed


def test_what_the_kernels_ask_for() -> None:
    new, old = needed(NEW), needed(OLD)
    assert {"libcudart.so.13", "libnvrtc.so.13", "libcublas.so.13", "libcuda.so.1"} <= set(new)
    assert {"libcudart.so.12", "libnvrtc.so.12", "libcublas.so.12", "libnuma.so.1"} <= set(old)
    assert "libnuma.so.1" not in new


@pytest.fixture
def site() -> Iterator[Path]:
    """CUDA 13.0 wheels and what a torch for it would bring, the libraries of cuBLAS and NVRTC by name alone."""
    require_program("gcc")
    with tree(TOOLKIT_WHEELS["13.0"]["runtime"]) as site_packages:
        version = "__version__ = '2.13.0+cu130'\ncuda: str = '13.0'\n"
        install(site_packages, "torch", "2.13.0", {"torch/version.py": version})
        for name in ("libnvrtc.so.13", "libcublas.so.13", "libcublasLt.so.13"):
            (site_packages / "nvidia/cu13/lib" / name).touch()
        yield site_packages


def add_torch(site: Path, *kernels: str) -> None:
    """torch's real libraries; those of its CUDA half, which weigh a gigabyte, have just the symbols of CUDA's parts
    that the kernels take."""
    add_missing(pick(TORCH, TORCH_LIBRARIES, any_python=False) / "torch/lib", site / "torch/lib")
    taken: set[bytes] = set()
    for kernel in kernels:
        taken |= set(open_library(Files(), str(pick(kernel, COMMON_OPS) / SM100)).undefined((b"_ZN", b"_ZNK")))
    real = (open_library(Files(), f"{site}/torch/lib/{name}") for name in ("libc10.so", "libtorch_cpu.so"))
    hashes = {symbol_hash(name) for name in taken}
    there = frozenset[int]().union(*(each.exports(hashes) for each in real))
    of_cuda = [name.decode() for name in sorted(taken) if symbol_hash(name) not in there and b"cuda" in name.lower()]
    for name in CUDA_HALF:
        library(site / "torch/lib" / name, defines=of_cuda if name == "libc10_cuda.so" else ())


def objects(site: Path) -> tuple[SharedObject, ...]:
    made = context(site_packages=[site])
    distributions = Distributions.read(made.files, made.site_packages)
    found = read_shared_objects(
        loader(), distributions, lambda: library_dirs(made.files, made.site_packages), Unknown("none")
    )
    return tuple(each for each in found if not each.distribution.startswith("torch "))


def diagnose(site: Path, scratch: Path, *options: str) -> Diagnosis:
    environment = ("--env-file", str(env_file(scratch)))
    return doctor(site, *environment, "--gpu", "rtx-pro-6000", "--driver", "580.95.05", *options)


def errors_about_kernels(diagnosis: Diagnosis) -> set[str]:
    assert not diagnosis.crashed
    return {check for check in diagnosis.errors if check.startswith("wheels.")}


def test_kernels_of_torchs_cuda_major_are_healthy(site: Path, tmp_path: Path) -> None:
    add_missing(pick(NEW, COMMON_OPS), site)
    add_torch(site, NEW)
    (found,) = objects(site)
    assert found.missing == ()
    assert isinstance(found.undefined, Known)
    assert found.undefined.value == ()
    assert errors_about_kernels(diagnose(site, tmp_path)) == set()


def test_kernels_of_the_other_cuda_major(site: Path, tmp_path: Path) -> None:
    add_missing(pick(OLD, COMMON_OPS), site)
    add_torch(site, OLD)
    (found,) = objects(site)
    assert {"libcudart.so.12", "libnvrtc.so.12", "libcublas.so.12"} <= set(found.missing)
    assert not set(found.missing) & {*CUDA_HALF, *OF_DRIVER}
    diagnosis = diagnose(site, tmp_path)
    assert errors_about_kernels(diagnosis) == {WRONG_CUDA, ABI}
    message = next(each["message"] for each in diagnosis.report["findings"] if each["check"] == WRONG_CUDA)
    assert "libnvrtc.so.12" in message


def test_kernels_built_for_another_torch(site: Path) -> None:
    """sgl-kernel 0.3.21 was built for torch 2.9: 2.13 has another c10::MessageLogger."""
    add_missing(pick(OLD, COMMON_OPS), site)
    add_torch(site, OLD)
    (found,) = objects(site)
    assert isinstance(found.undefined, Known)
    assert "_ZN3c1013MessageLoggerC1EPKcii" in found.undefined.value
    assert all(b"cuda" not in name.encode().lower() for name in found.undefined.value)


@pytest.mark.parametrize("gone", [("libcublas.so.13",), ("libnvrtc.so.13", "libcublasLt.so.13")])
def test_a_library_that_was_taken_away(site: Path, tmp_path: Path, gone: Sequence[str]) -> None:
    add_missing(pick(NEW, COMMON_OPS), site)
    for name in gone:
        (site / "nvidia/cu13/lib" / name).unlink()
    (found,) = objects(site)
    assert set(gone) <= set(found.missing)
    assert WRONG_CUDA in errors_about_kernels(diagnose(site, tmp_path))


def test_an_upgrade_that_left_the_old_package(site: Path, tmp_path: Path) -> None:
    add_missing(pick(NEW, COMMON_OPS), site)
    shutil.copytree(next(pick(OLD, COMMON_OPS).glob("*.dist-info")), site / "sgl_kernel-0.3.21.dist-info")
    diagnosis = diagnose(site, tmp_path)
    found = [each for each in diagnosis.report["findings"] if each["check"] == "wheels.renamed-package-twice"]
    assert [each["severity"] for each in found] == ["warning"]

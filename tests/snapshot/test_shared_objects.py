"""Libraries of kernel packages in a site-packages folder made by hand, with libraries that gcc has just made."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.shared_objects import read_shared_objects
from sm120kit.snapshot.types.packages import SharedObject
from sm120kit.snapshot.wheel_libraries import library_dirs
from tests.programs import require_program
from tests.snapshot.shared_libraries import library
from tests.snapshot.targets import context, install, loader, value

NO_INTERPRETER = Unknown("none")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    require_program("gcc")
    folder = tmp_path / "site"
    install(folder, "torch", "2.14.1")
    library(folder / "torch/lib/libc10.so", defines=["_ZN3c10here"])
    library(folder / "torch/lib/libtorch_cpu.so", defines=["_ZN2at4here", "aoti_torch_here"])
    return folder


def read(site: Path, *folders: Path) -> tuple[SharedObject, ...]:
    made = context(site_packages=[site])
    distributions = Distributions.read(made.files, made.site_packages)
    return read_shared_objects(
        loader(*folders), distributions, lambda: library_dirs(made.files, made.site_packages), NO_INTERPRETER
    )


def kernels(site: Path, version: str = "0.4.10", folder: str = "sm100", **options: list[str]) -> None:
    if not list(site.glob("sglang_kernel-*")):
        install(site, "sglang_kernel", version)
    library(site / f"sgl_kernel/{folder}/common_ops.abi3.so", **options)  # type: ignore[arg-type]


def test_nothing_installed_asks_nothing(tmp_path: Path) -> None:
    made = context(site_packages=[tmp_path])
    distributions = Distributions.read(made.files, made.site_packages)

    def never() -> dict[str, frozenset[str]]:
        raise AssertionError("the folders of NVIDIA's wheels were listed for nobody")

    assert read_shared_objects(loader(), distributions, never, NO_INTERPRETER) == ()


def test_a_library_of_nvidias_wheels_counts(site: Path) -> None:
    (site / "nvidia/cu13/lib").mkdir(parents=True)
    (site / "nvidia/cu13/lib/libcudart.so.13").touch()
    kernels(site, needs=["libcudart.so.13", "libnvrtc.so.13", "libcuda.so.1", "libc10.so"])
    (found,) = read(site)
    assert (found.distribution, found.role) == ("sglang-kernel 0.4.10", "always")
    assert found.missing == ("libnvrtc.so.13",)
    assert "libcuda.so.1" in value(found.needed)


def test_the_loaders_path_and_its_own_count(site: Path, tmp_path: Path) -> None:
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra/libfaraway.so.7").touch()
    (site / "sgl_kernel/beside").mkdir(parents=True)
    (site / "sgl_kernel/beside/libown.so.1").touch()
    kernels(site, needs=["libfaraway.so.7", "libown.so.1"])
    assert read(site)[0].missing == ("libfaraway.so.7", "libown.so.1")
    assert read(site, tmp_path / "extra")[0].missing == ("libown.so.1",)
    library(
        site / "sgl_kernel/sm100/common_ops.abi3.so",
        needs=["libfaraway.so.7", "libown.so.1"],
        runpath="$ORIGIN/../beside",
    )
    assert read(site)[0].missing == ("libfaraway.so.7",)


def test_symbols_that_torch_does_not_have(site: Path) -> None:
    kernels(
        site, takes=["_ZN3c10here", "_ZN2at4here", "aoti_torch_here", "_ZN3c10gone", "printf_like"], needs=["libc10.so"]
    )
    assert value(read(site)[0].undefined) == ("_ZN3c10gone",)


def test_a_library_of_torch_that_is_not_there_is_what_is_wrong(site: Path) -> None:
    kernels(site, takes=["_ZN3c10gone"], needs=["libc10.so", "libtorch_cuda.so"])
    (found,) = read(site)
    assert isinstance(found.undefined, Unknown)
    assert "libtorch_cuda.so is not there" in found.undefined.reason
    assert found.missing == ("libtorch_cuda.so",)


def test_roles(site: Path) -> None:
    kernels(site)
    kernels(site, folder="sm90")
    library(site / "sgl_kernel/flash_ops.abi3.so")
    roles = {found.path.rpartition("sgl_kernel/")[2]: found.role for found in read(site)}
    assert roles == {
        "sm100/common_ops.abi3.so": "always",
        "sm90/common_ops.abi3.so": "hopper",
        "flash_ops.abi3.so": "on-demand",
    }


def test_files_that_cannot_be_read(site: Path) -> None:
    kernels(site)
    (site / "sgl_kernel/sm100/common_ops.abi3.so").write_bytes(b"no library")
    (found,) = read(site)
    assert isinstance(found.needed, Unknown)
    assert "common_ops.abi3.so" in found.needed.reason
    assert not isinstance(found.undefined, Known)


def test_torch_itself_is_read_for_what_it_needs_alone(site: Path) -> None:
    library(site / "torch/lib/libtorch_cuda.so", takes=["_ZN3c10gone"], needs=["libcudnn.so.9", "libc10.so"])
    (found,) = read(site)
    assert (found.distribution, found.missing) == ("torch 2.14.1", ("libcudnn.so.9",))
    assert isinstance(found.undefined, Unknown)

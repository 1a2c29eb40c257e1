"""The driver through the real nvidia-ml-py, against a library that answers what the test wants."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sm120kit.snapshot import nvml_child
from sm120kit.snapshot.driver import kernel_module, read_driver
from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.loader import Loader
from sm120kit.snapshot.types.machine import Driver, Gpu, GpuProcess, LostGpu
from tests.snapshot.targets import context, loader, value

MIB = 1 << 20
MODULE_OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22)  Tue Sep 23\n"
    "GCC version:  gcc version 13.3.0\n"
)
MODULE_CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"


def ask(folder: Path, state: str = "", limit_s: float = 10.0, *, really: bool = True) -> Driver:
    (folder / "state").write_text(state)
    return read_driver(context(), loader(folder), ask=really, limit_s=limit_s)


def gpus(driver: Driver) -> tuple[Gpu, ...]:
    assert isinstance(driver.gpus, Known), driver.gpus
    return driver.gpus.value


def reason(driver: Driver) -> str:
    """Why nothing is known by NVML."""
    assert isinstance(driver.gpus, Unknown), driver.gpus
    assert driver.version == driver.cuda_version == driver.gpus
    return driver.gpus.reason


def test_eight_healthy_cards(nvml_folder: Path) -> None:
    driver = ask(nvml_folder)
    assert value(driver.nvml_library) == str(nvml_folder / "libnvidia-ml.so.1")
    assert value(driver.version) == "580.95.05"
    assert value(driver.cuda_version) == "13.0"
    assert [gpu.index for gpu in gpus(driver)] == list(range(8))
    assert len({gpu.uuid for gpu in gpus(driver)}) == 8
    first = gpus(driver)[0]
    assert first.name == "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    assert first.compute_capability == "12.0"
    assert first.pci_bus_id == "00000000:01:00.0"
    assert (value(first.memory_total), value(first.memory_free)) == (97887 * MIB, 97245 * MIB)
    assert first.mig_devices == ()
    assert driver.lost_gpus == ()


def test_nvlink(nvml_folder: Path) -> None:
    assert {value(gpu.nvlinks) for gpu in gpus(ask(nvml_folder))} == {0}, "NVML: not supported, so there is none"
    assert value(gpus(ask(nvml_folder, "any nvlink 18\n"))[0].nvlinks) == 18
    sick = gpus(ask(nvml_folder, "1 nvlink !999\n"))[1].nvlinks
    assert isinstance(sick, Unknown)
    assert "NVML_ERROR_UNKNOWN" in sick.reason


def test_a_lost_card_is_named_and_the_others_are_listed(nvml_folder: Path) -> None:
    driver = ask(nvml_folder, "5 handle !15\n6 cc !15\n")
    assert [gpu.index for gpu in gpus(driver)] == [0, 1, 2, 3, 4, 7]
    words = "NVML_ERROR_GPU_IS_LOST: GPU is lost"
    assert driver.lost_gpus == (LostGpu(5, words), LostGpu(6, words))


def test_mig_instances_are_listed_under_their_card(nvml_folder: Path) -> None:
    driver = ask(nvml_folder, "system count 2\nany mig 0\n1 mig 1\n")
    first, second = gpus(driver)
    assert first.mig_devices == ()
    assert second.mig_devices == (
        "MIG-00000001-0000-0000-0000-000000000000",
        "MIG-00000001-0000-0000-0000-000000000002",
    )


def test_gb10_has_no_memory_figures(nvml_folder: Path) -> None:
    driver = ask(nvml_folder, "system count 1\nany name NVIDIA GB10\nany cc 12.1\nany memory !3\n")
    (gpu,) = gpus(driver)
    assert (gpu.name, gpu.compute_capability) == ("NVIDIA GB10", "12.1")
    assert isinstance(gpu.memory_total, Unknown)
    assert "NVML_ERROR_NOT_SUPPORTED: Not Supported" in gpu.memory_total.reason
    assert gpu.memory_free == gpu.memory_total


def test_a_version_mismatch_is_named_as_people_know_it(nvml_folder: Path) -> None:
    said = reason(ask(nvml_folder, "system init !18\n"))
    assert said.startswith("NVML_ERROR_LIB_RM_VERSION_MISMATCH: ")
    assert "driver/library version mismatch" in said


@pytest.mark.parametrize(
    ("code", "name"),
    [(9, "NVML_ERROR_DRIVER_NOT_LOADED"), (4, "NVML_ERROR_NO_PERMISSION"), (999, "NVML_ERROR_UNKNOWN"), (77, "77")],
)
def test_each_error_of_nvml_is_named(nvml_folder: Path, code: int, name: str) -> None:
    assert name in reason(ask(nvml_folder, f"system init !{code}\n"))


def test_an_error_of_one_question_leaves_the_others_known(nvml_folder: Path) -> None:
    driver = ask(nvml_folder, "system count !999\nsystem cuda !13\n")
    assert value(driver.version) == "580.95.05"
    assert driver.cuda_version == Unknown("NVML_ERROR_FUNCTION_NOT_FOUND: Function Not Found")
    assert driver.gpus == Unknown("NVML_ERROR_UNKNOWN: Unknown Error")


def test_a_hang_ends_in_time_and_leaves_no_process(nvml_folder: Path) -> None:
    start = time.monotonic()
    said = reason(ask(nvml_folder, "system init hang\n", limit_s=1.0))
    assert time.monotonic() - start < 3.0
    assert said.startswith("NVML did not answer within 1 s")
    assert not processes_with(str(nvml_folder / "libnvidia-ml.so.1"))


def test_a_hang_does_not_outlive_who_asked(nvml_folder: Path) -> None:
    (nvml_folder / "state").write_text("system init hang\n")
    asking = (
        "from pathlib import Path; from tests.snapshot.targets import context, loader, value;"
        "from sm120kit.snapshot.driver import read_driver;"
        f"read_driver(context(), loader(Path({str(nvml_folder)!r})), ask=True, limit_s=60)"
    )
    library = str(nvml_folder / "libnvidia-ml.so.1")
    asker = subprocess.Popen([sys.executable, "-c", asking], cwd=Path(__file__).parents[2])
    try:
        assert wait_until(lambda: any(has_loaded(library, child) for child in processes_with(library)))
        asker.kill()
        asker.wait()
        assert wait_until(lambda: not processes_with(library))
    finally:
        asker.kill()
        asker.wait()
        for left in processes_with(library):
            os.kill(left, signal.SIGKILL)


def test_a_crash_is_named(nvml_folder: Path) -> None:
    assert "crashed when it was asked (SIGSEGV)" in reason(ask(nvml_folder, "system init crash\n"))


def test_an_answer_that_is_none_is_told(nvml_folder: Path) -> None:
    assert "could not be asked: it said nothing" in reason(ask(nvml_folder, "system init noise\n"))


def test_a_file_that_is_no_library_is_told(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("not ELF")
    said = reason(ask(tmp_path))
    assert str(tmp_path / "libnvidia-ml.so.1") in said
    assert "OSError" in said


def test_the_answer_of_another_version_is_told(nvml_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml_child, "MARK", "sm120kit.nvml/")
    assert "gave an answer that cannot be read" in reason(ask(nvml_folder))


def test_hardware_named_on_the_command_line_leaves_nvml_alone(nvml_folder: Path) -> None:
    driver = ask(nvml_folder, "system init hang\n", really=False)
    assert "--gpu" in reason(driver)
    assert isinstance(driver.nvml_library, Known)


def test_without_the_library_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    driver = read_driver(context(), Loader(Files(str(tmp_path)), (), "x86_64"), ask=True)
    assert reason(driver) == "no libnvidia-ml.so.1 on the loader's path"
    assert driver.nvml_library == driver.gpus
    assert value(driver.libcuda) == ()


def test_an_unpacked_image_has_no_driver_but_perhaps_a_libcuda(
    built_nvml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    compat = tmp_path / "usr/local/cuda/compat"
    compat.mkdir(parents=True)
    (compat / "libcuda.so.580.65.06").write_bytes(b"")
    (compat / "libcuda.so.1").symlink_to("libcuda.so.580.65.06")
    (compat / "libnvidia-ml.so.1").write_bytes(built_nvml.read_bytes())
    image = context(root=tmp_path, environment={"LD_LIBRARY_PATH": "/usr/local/cuda/compat"})
    driver = read_driver(image, Loader.of(image), ask=True)
    assert "unpacked image" in reason(driver)
    assert isinstance(driver.module_version, Unknown)
    assert value(driver.nvml_library) == "/usr/local/cuda/compat/libnvidia-ml.so.1"
    assert value(driver.libcuda) == ("/usr/local/cuda/compat/libcuda.so.580.65.06",)
    assert driver.libcuda_links == ("/usr/local/cuda/compat/libcuda.so.1",)


@pytest.mark.parametrize(
    ("text", "version", "is_open"), [(MODULE_OPEN, "580.95.05", True), (MODULE_CLOSED, "535.104.05", False)]
)
def test_the_kernel_module_tells_its_version_and_kind(text: str, version: str, is_open: bool) -> None:
    told_version, told_open = kernel_module(text)
    assert (value(told_version), value(told_open)) == (version, is_open)


@pytest.mark.parametrize("text", ["", "NVRM version: nothing here\n", "\x00\xff", "580.95.05\n"])
def test_a_module_text_without_a_version_is_unknown(text: str) -> None:
    assert all(isinstance(fact, Unknown) for fact in kernel_module(text))


def processes_with(argument: str) -> list[int]:
    """Numbers of the living processes that ask NVML with ``argument`` among their arguments."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            arguments = Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
            if argument.encode() in arguments and nvml_child.__file__.encode() in arguments:
                found.append(int(entry))
    return found


def has_loaded(library: str, pid: int) -> bool:
    with contextlib.suppress(OSError):
        return library in Path(f"/proc/{pid}/maps").read_text()
    return False


def wait_until(condition: Callable[[], bool], limit_s: float = 10.0) -> bool:
    end = time.monotonic() + limit_s
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_whether_the_loaders_cache_lists_libcuda(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libcuda.so.1").touch()
    (tmp_path / "etc/ld.so.cache").write_bytes(b"glibc-ld.so.cache1.1\0libcuda.so.1\0/gone/libcuda.so.1\0")
    image = Loader.of(context(root=tmp_path))
    assert not image.is_cached("libcuda.so.1"), "a file that the cache names and that is gone does not count"
    assert image.holds("libcuda.so.1"), "the loader looks into its default folders all the same"
    (tmp_path / "etc/ld.so.cache").write_bytes(b"glibc-ld.so.cache1.1\0libcuda.so.1\0/lib/libcuda.so.1\0")
    assert Loader.of(context(root=tmp_path)).is_cached("libcuda.so.1")


def test_who_computes_on_a_card(nvml_folder: Path) -> None:
    found = gpus(ask(nvml_folder, "5 process 4242 84000\n6 process !999\n7 process !13\n"))
    assert found[5].processes == (GpuProcess(4242, 84000 * MIB),)
    assert {gpu.processes for gpu in (found[0], found[6], found[7])} == {()}

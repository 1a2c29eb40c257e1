"""Libraries that two wheels list, and libraries that LD_LIBRARY_PATH puts before those of wheels."""

from __future__ import annotations

from pathlib import Path

from sm120kit.snapshot.records import Distributions, RecordIndex
from sm120kit.snapshot.types.packages import Shadow, SharedFile
from sm120kit.snapshot.wheel_libraries import library_dirs, read_shadows, read_shared_files
from tests.snapshot.targets import context, install, loader

NCCL = "nvidia/nccl/lib/libnccl.so.2"


def shared(site: Path) -> tuple[SharedFile, ...]:
    made = context(site_packages=[site])
    return read_shared_files(made.files, Distributions.read(made.files, made.site_packages))


def torch(site: Path, *requirements: str) -> None:
    info = install(site, "torch", "2.11.0")
    lines = "".join(f"Requires-Dist: {each}\n" for each in requirements)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n{lines}\nText\n")


def test_the_wheel_installed_last_wrote_it(tmp_path: Path) -> None:
    torch(tmp_path, 'nvidia-nccl-cu13==2.28.9; platform_system == "Linux"', "filelock")
    install(tmp_path, "nvidia_nccl_cu13", "2.28.9", {NCCL: "the newer one"})
    install(tmp_path, "nvidia_nccl_cu12", "2.27.5", {NCCL: "old", "nvidia/nccl/include/nccl.h": "x"})
    (found,) = shared(tmp_path)
    assert (found.path, found.size) == (f"{tmp_path}/{NCCL}", 3)
    assert found.wanted == "nvidia-nccl-cu13 2.28.9"
    assert found.writers == ("nvidia-nccl-cu12 2.27.5",)


def test_one_major_shares_with_nobody(tmp_path: Path) -> None:
    install(tmp_path, "nvidia_nccl_cu13", "2.28.9", {NCCL: "new"})
    install(tmp_path, "nvidia_nvjitlink_cu12", "12.8.93", {"nvidia/nvjitlink/lib/libnvJitLink.so.12": "x"})
    assert shared(tmp_path) == ()


def test_both_majors_in_folders_of_their_own(tmp_path: Path) -> None:
    install(tmp_path, "nvidia_x_cu12", "1", {"nvidia/x12/lib/libx.so.1": "a"})
    install(tmp_path, "nvidia_x_cu13", "2", {"nvidia/x13/lib/libx.so.2": "b"})
    assert shared(tmp_path) == ()


def test_torch_without_metadata(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.11.0").joinpath("METADATA").unlink()
    install(tmp_path, "nvidia_nccl_cu13", "2.28.9", {NCCL: "new"})
    install(tmp_path, "nvidia_nccl_cu12", "2.27.5", {NCCL: "old"})
    assert shared(tmp_path)[0].wanted == ""


def shadows(site: Path, *folders: Path) -> tuple[Shadow, ...]:
    made = context(site_packages=[site])
    distributions = Distributions.read(made.files, made.site_packages)
    records = RecordIndex(made.files, distributions.starting_with("nvidia-"))
    return read_shadows(loader(*folders), lambda: library_dirs(made.files, made.site_packages), records)


def test_a_toolkit_before_the_wheels(tmp_path: Path) -> None:
    site, system = tmp_path / "site", tmp_path / "cuda-12.1/lib64"
    install(site, "nvidia_nvjitlink_cu12", "12.8.93", {"nvidia/nvjitlink/lib/libnvJitLink.so.12": "x"})
    system.mkdir(parents=True)
    (system / "libnvJitLink.so.12.1.105").touch()
    (system / "libnvJitLink.so.12").symlink_to("libnvJitLink.so.12.1.105")
    (system / "libother.so.1").touch()
    (found,) = shadows(site, tmp_path / "empty", system)
    assert found == Shadow(
        "libnvJitLink.so.12",
        f"{site}/nvidia/nvjitlink/lib/libnvJitLink.so.12",
        "nvidia-nvjitlink-cu12 12.8.93",
        f"{system}/libnvJitLink.so.12",
        f"{system}/libnvJitLink.so.12.1.105",
    )


def test_the_wheels_own_folder_shadows_nothing(tmp_path: Path) -> None:
    install(tmp_path, "nvidia_nvjitlink_cu12", "12.8.93", {"nvidia/nvjitlink/lib/libnvJitLink.so.12": "x"})
    (tmp_path / "link").symlink_to("nvidia/nvjitlink/lib")
    assert shadows(tmp_path, tmp_path / "nvidia/nvjitlink/lib", tmp_path / "link") == ()
    assert shadows(tmp_path) == ()

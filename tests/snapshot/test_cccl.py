from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.snapshot.cccl import cccl_copies
from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.records import Distributions, RecordIndex
from sm120kit.snapshot.types.toolkits import CcclCopy
from tests.snapshot.toolkit_trees import WHEEL_FILES, cccl, install_wheel, under, value, wheel_tree, write

WHEEL = "nvidia-cuda-cccl 13.0.85"


def copies_in(site: Path, *folders: str) -> tuple[CcclCopy, ...]:
    files = Files()
    records = RecordIndex(files, Distributions.read(files, (str(site),)).found)
    return cccl_copies(files, [f"{site}/{folder}" for folder in folders], records)


def test_the_wheel_holds_one_whole_copy_and_a_second_nv(tmp_path: Path) -> None:
    wheel_tree(tmp_path)
    nv, whole = copies_in(tmp_path, "nvidia/cu13/include", "nvidia/cu13/include/cccl")
    assert (nv.has_nv_target, nv.has_cuda_std, nv.has_cub, nv.has_thrust) == (True, False, False, False)
    assert isinstance(nv.version, Unknown)
    assert (whole.has_nv_target, whole.has_cuda_std, whole.has_cub, whole.has_thrust) == (True, True, True, True)
    assert isinstance(whole.version, Known)
    assert (whole.version.value, whole.version.source.line) == ("3.0.1", 2)
    assert (nv.owner, whole.owner) == (WHEEL, WHEEL)
    assert (nv.unowned_files, whole.unowned_files) == (0, 0)


def test_an_overlay_beside_the_wheels_copy_shows_as_another_version_with_files_of_nobody(tmp_path: Path) -> None:
    home = wheel_tree(tmp_path)
    overlay = {name: text for name, text in cccl(3006000, "").items() if name.startswith("cuda/")}
    write(home / "include", overlay)
    over, whole = copies_in(tmp_path, "nvidia/cu13/include", "nvidia/cu13/include/cccl")
    assert (value(over.version), over.owner, over.unowned_files) == ("3.6.0", WHEEL, len(overlay))
    assert (value(whole.version), whole.unowned_files) == ("3.0.1", 0)


def test_new_files_copied_into_the_wheels_own_copy_are_counted(tmp_path: Path) -> None:
    home = wheel_tree(tmp_path)
    write(home / "include/cccl", {"cuda/std/mdspan_new": "", "cuda/devices_new": "", "nv/extra": ""})
    (copy,) = copies_in(tmp_path, "nvidia/cu13/include/cccl")
    assert (copy.owner, copy.unowned_files) == (WHEEL, 3)


def test_a_copy_of_nobody_has_no_unowned_files(tmp_path: Path) -> None:
    write(tmp_path / "include", cccl(3006000, ""))
    (copy,) = copies_in(tmp_path, "include")
    assert (copy.owner, copy.unowned_files) == ("", 0)


def test_cuda_std_and_cub_of_two_versions_in_one_folder_are_two_copies(tmp_path: Path) -> None:
    write(tmp_path, {**under("include", cccl(3000001, "")), "include/cub/version.cuh": "#define CUB_VERSION 300600\n"})
    std, cub = copies_in(tmp_path, "include")
    assert (value(std.version), std.has_cuda_std, std.has_cub) == ("3.0.1", True, False)
    assert (value(cub.version), cub.has_cuda_std, cub.has_cub, cub.has_thrust) == ("3.6.0", False, True, True)


@pytest.mark.parametrize(
    ("number", "version", "older"),
    [(2003002, "2.3.2", True), (2007000, "2.7.0", False), (3005000, "3.5.0", False), (3003004, "3.3.4", False)],
)
def test_versions_in_each_historical_place(tmp_path: Path, number: int, version: str, older: bool) -> None:
    write(tmp_path / "include", cccl(number, "", older_place=older))
    (copy,) = copies_in(tmp_path, "include")
    assert value(copy.version) == version


def test_a_copy_without_cuda_std_is_known_by_cub_or_thrust(tmp_path: Path) -> None:
    write(tmp_path / "a", {"cub/cub.cuh": "", "cub/version.cuh": "#define CUB_VERSION 200802 // x\n"})
    write(tmp_path / "b", {"thrust/version.h": "#define THRUST_VERSION 101700\n"})
    first, second = copies_in(tmp_path, "a", "b")
    assert (value(first.version), value(second.version)) == ("2.8.2", "1.17.0")


def test_nv_alone_where_cuda_is_another_packages_folder(tmp_path: Path) -> None:
    write(tmp_path, {"include/nv/target": "", "include/cuda/other.h": ""})
    (copy,) = copies_in(tmp_path, "include", "missing")
    assert (copy.has_nv_target, copy.has_cuda_std) == (True, False)


def test_links_into_the_wheel_are_its_files(tmp_path: Path) -> None:
    install_wheel(tmp_path, "nvidia_cuda_cccl-13.0.85", under("nvidia/cu13", WHEEL_FILES["nvidia_cuda_cccl-13.0.85"]))
    source = tmp_path / "nvidia/cu13/include/cccl"
    for path in [each for each in source.rglob("*") if each.is_file()]:
        link = tmp_path / "view" / path.relative_to(source)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    (copy,) = copies_in(tmp_path, "view")
    assert (copy.owner, copy.unowned_files) == (WHEEL, 0)

"""Proofs cannot lie: each fault that is planted in a healthy toolkit makes the right rung fail, with its true words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs import require_program
from tests.wheels.kit import kit_for, plant
from tests.wheels.trees import TOOLKIT_WHEELS, add_missing, lay
from tests.wheels.variants import HEALTHY, Made, make

pytestmark = pytest.mark.wheels

NOTHING = "#!/bin/sh\nexit 0\n"


@pytest.fixture
def h130() -> Iterator[Made]:
    require_program("gcc", "c++")
    with make(HEALTHY["13.0"]) as made:
        yield made


@pytest.fixture
def h135() -> Iterator[Made]:
    require_program("gcc", "c++")
    with make(HEALTHY["13.5"]) as made:
        yield made


def failed(proofs: dict[str, dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """Error and explaining check of every rung that failed."""
    return {name: (each["error"], each["check"]) for name, each in proofs.items() if each["outcome"] == "failed"}


def library(path: Path, soname: str) -> None:
    """A shared library that defines cuInit, as a stub does: it answers 34."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    name = [f"-Wl,-soname,{soname}"] if soname else []
    command = ["gcc", "-shared", "-nostdlib", "-x", "c", "-", *name, "-o", str(path)]
    subprocess.run(command, input=b"int cuInit(unsigned flags) { return 34; }\n", check=True)


def test_a_healthy_toolkit_passes(h130: Made, tmp_path: Path) -> None:
    proofs = kit_for(h130, tmp_path).prove()
    assert failed(proofs) == {}
    assert {name for name, each in proofs.items() if each["outcome"] == "passed"} == {
        "link", "preprocess-fp16", "preprocess-cuda-std", "compile", "cub",
    }  # fmt: skip


def test_a_stub_that_the_loader_takes_for_the_driver(h130: Made, tmp_path: Path) -> None:
    library(tmp_path / "stubs" / "libcuda.so.1", "libcuda.so.1")
    proofs = kit_for(h130, tmp_path, LD_LIBRARY_PATH=str(tmp_path / "stubs")).prove()
    error, check = failed(proofs).pop("load")
    assert error.startswith("error: cuInit returned 34 (CUDA_ERROR_STUB_LIBRARY")
    assert check == "loader.stub-on-path"


@pytest.mark.parametrize(("release", "other"), [("13.5", "13.0"), ("13.0", "13.5"), ("13.0", "13.2")])
def test_cub_of_another_cccl(release: str, other: str, tmp_path: Path) -> None:
    require_program("gcc", "c++")
    with make(HEALTHY[release]) as made:
        cub = made.cuda_home / "include/cccl/cub"
        shutil.rmtree(cub)
        cub.mkdir()
        add_missing(lay(TOOLKIT_WHEELS[other]["cccl"]) / "nvidia/cu13/include/cccl/cub", cub)
        found = failed(kit_for(made, tmp_path).prove())
    assert set(found) == {"cub"}
    error, check = found["cub"]
    assert re.search(r"missing binary operator|of different CCCL versions|The version of CUB|/cub/", error), error
    assert check == "toolkit.cccl-mixed"


def test_ptxas_older_than_cicc(h135: Made, tmp_path: Path) -> None:
    ptxas = h135.cuda_home / "bin/ptxas"
    ptxas.unlink()
    os.link(lay(TOOLKIT_WHEELS["13.0"]["nvcc"]) / "nvidia/cu13/bin/ptxas", ptxas)
    found = failed(kit_for(h135, tmp_path).prove())
    assert set(found) == {"compile"}
    error, check = found["compile"]
    assert "Unsupported .version 9.5; current version is '9.0'" in error
    assert check == "toolkit.release-mismatch"


def test_libcudart_is_an_empty_file(h130: Made, tmp_path: Path) -> None:
    plant(tmp_path / "empty", b"")
    link = h130.cuda_home / "lib/libcudart.so"
    link.unlink()
    link.symlink_to(tmp_path / "empty")
    error, check = failed(kit_for(h130, tmp_path).prove())["link"]
    assert "undefined reference to `cudaGetDeviceCount" in error
    assert check == "toolkit.cudart-unlinkable"


def test_libcudart_is_for_another_machine(h130: Made, tmp_path: Path) -> None:
    library_file = h130.cuda_home / "lib/libcudart.so.13"
    content = bytearray(library_file.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")  # e_machine: AArch64
    plant(library_file, bytes(content))
    error, check = failed(kit_for(h130, tmp_path).prove())["link"]
    assert error.endswith("cannot find -lcudart: No such file or directory") or "incompatible" in error
    assert check == "toolkit.cudart-unlinkable"


@pytest.mark.parametrize("soname", ["", "libcuda.so", "libcuda.so.2"])
def test_a_stub_with_another_soname(h130: Made, tmp_path: Path, soname: str) -> None:
    library(h130.cuda_home / "lib/stubs/libcuda.so", soname)
    error, check = failed(kit_for(h130, tmp_path).prove())["link"]
    assert error.endswith("at run time, and not for libcuda.so.1")
    assert check == "toolkit.libcuda-stub-missing"


def test_a_linker_that_makes_nothing(h130: Made, tmp_path: Path) -> None:
    wrapper = tmp_path / "bin/c++"
    wrapper.parent.mkdir()
    plant(wrapper, NOTHING, 0o755)
    kit = kit_for(h130, tmp_path, CXX=str(wrapper))
    error, _ = failed(kit.prove())["link"]
    assert error == "error: c++ ended with 0 and made no linked.so: No such file or directory"


NVCC_WRAPPERS = {
    "makes nothing": ("", "made no"),
    "makes empty files": (
        'for out; do :; done; while [ $# -gt 1 ]; do [ "$1" = -o ] && : > "$2"; shift; done',
        "empty",
    ),
    "leaves the GPU out": ('exec "$REAL" $(printf "%s\\n" "$@" | grep -v gencode)', "code for sm_"),
    "compiles for the host alone": (
        'case "$*" in *" -c "*) ;; *) exec "$REAL" "$@";; esac\n'
        'while [ $# -gt 1 ]; do [ "$1" = -o ] && echo "int x;" | gcc -c -x c - -o "$2"; shift; done',
        "code for no GPU",
    ),
}


@pytest.mark.parametrize("wrapper", NVCC_WRAPPERS)
def test_an_nvcc_that_only_seems_to_work(h130: Made, tmp_path: Path, wrapper: str) -> None:
    body, words = NVCC_WRAPPERS[wrapper]
    nvcc = h130.cuda_home / "bin/nvcc"
    real = h130.cuda_home / "bin/nvcc.real"
    nvcc.rename(real)
    plant(nvcc, f"#!/bin/sh\nREAL={real}\n{body}\nexit 0\n", 0o755)
    kit = kit_for(h130, tmp_path)
    for _ in range(2):  # a second time, since what passed is remembered
        found = failed(kit.prove())
        assert words in found["compile"][0], found


def take_alone(folder: Path) -> None:
    """Give every file an inode of its own: a test beside this one that links or drops the same file would change its
    time of change, and the cache rightly takes that for a change."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_nlink > 1:
            own = path.with_name(f"{path.name}.own")
            shutil.copy2(path, own)
            own.replace(path)


def test_what_passed_is_remembered_until_something_it_read_changes(h130: Made, tmp_path: Path) -> None:
    take_alone(h130.cuda_home)
    kit = kit_for(h130, tmp_path)
    assert failed(kit.prove()) == {}
    again = kit.prove()
    cached = {name for name, each in again.items() if each["cached"]}
    assert cached == {"preprocess-fp16", "preprocess-cuda-std", "compile", "cub"}

    header = h130.cuda_home / "include/cuda_fp16.h"
    before, text = header.stat(), header.read_text()
    # Of the same size and time of modification, as a careless synchronisation leaves it.
    plant(header, text.replace("#define __CUDA_FP16_H__", "#error __CUDA_FP16_H__ "))
    os.utime(header, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert header.stat().st_size == before.st_size
    found = failed(kit.prove())
    assert set(found) == {"preprocess-fp16", "preprocess-cuda-std", "compile", "cub"}
    assert found["compile"][0].endswith("#error __CUDA_FP16_H__")


def test_a_header_that_appears_in_front_of_one_that_was_read(h130: Made, tmp_path: Path) -> None:
    kit = kit_for(h130, tmp_path)
    assert failed(kit.prove()) == {}
    shadow = h130.cuda_home / "include/cuda/std/type_traits"
    shadow.parent.mkdir(parents=True)
    plant(shadow, "#error this one is found first\n")
    found = failed(kit.prove())
    assert {"preprocess-cuda-std", "compile", "cub"} <= set(found)
    assert found["preprocess-cuda-std"][0].endswith("#error this one is found first")

"""What is said of a program's work and words, without any compiler."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest

from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.proof.cache import ProofCache
from sm120kit.proof.errors_in import explaining_check, first_error
from sm120kit.proof.inputs import files_read
from sm120kit.proof.outputs import EXPLAINED_BY, explained_by, fault_in
from sm120kit.proof.types import Rung
from tests.programs import require_program


def rung(**changes: object) -> Rung:
    given: dict[str, object] = {"name": "compile", "consumers": (), "shows": "", "command": ("/opt/cuda/bin/nvcc",)}
    return Rung(**{**given, **changes})  # type: ignore[arg-type] # any fields, as a test wants them


def test_a_rung_without_output_asks_for_none(tmp_path: Path) -> None:
    assert fault_in(rung(), str(tmp_path)) == ""


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "made no probe.ii: No such file or directory"),
        (b"", "is empty"),
        (b"int other;", "does not hold __half"),
        (b"struct __half {};", ""),
    ],
)
def test_what_was_preprocessed_holds_the_words(tmp_path: Path, content: bytes | None, fault: str) -> None:
    if content is not None:
        (tmp_path / "probe.ii").write_bytes(content)
    found = fault_in(rung(output="probe.ii", holds=("__half",)), str(tmp_path))
    assert found.endswith(fault)
    assert found.startswith("error: nvcc ended with 0") or not fault


@pytest.mark.parametrize(
    ("architectures", "fault"), [((120,), ""), ((80, 120), ""), ((75,), "code for sm_75"), ((), "code for no GPU")]
)
def test_an_object_holds_code_for_the_gpu(tmp_path: Path, architectures: tuple[int, ...], fault: str) -> None:
    require_program("as")
    entries = b"".join(
        struct.pack("<HHIQIIHHI", 2, 0x101, 32, 4, 0, 64, 8, 1, number) + b"code" for number in architectures
    )
    # An entry of PTX, which is no machine code, whatever it is for.
    entries += struct.pack("<HHIQIIHHI", 1, 0x101, 32, 4, 0, 64, 8, 1, 120) + b"text"
    section = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries
    source = '.section .nv_fatbin,"a"\n' + "".join(f".byte {byte}\n" for byte in section)
    subprocess.run(["as", "-o", str(tmp_path / "kernel.o"), "-"], input=source.encode(), check=True)
    found = fault_in(rung(output="kernel.o", machine_code=(120,)), str(tmp_path))
    assert fault in found
    assert bool(found) == bool(fault)


@pytest.mark.parametrize("content", [b"\x7fELF", b"MZ", b"\x7fELF" + bytes(200)])
def test_something_that_is_no_object(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "kernel.o").write_bytes(content)
    found = fault_in(rung(output="kernel.o", machine_code=(120,)), str(tmp_path))
    assert found.startswith("error: nvcc ended with 0, and the object that it made cannot be read: ")


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("", ""),
        ("note: x\nlast words", "last words"),
        (
            "[1/2] nvcc\nFAILED: a.o\na.cu(3): warning: w\na.cu(4): error: first\nb.cu(1): error: second",
            "a.cu(4): error: first",
        ),
        (
            "/usr/bin/ld: cannot find -lcuda: No such file or directory\ncollect2: error: ld returned 1 exit status",
            "/usr/bin/ld: cannot find -lcuda: No such file or directory",
        ),
        ("ninja: build stopped: subcommand failed.\nptxas fatal   : Unsupported .version 9.5", "ptxas fatal   : "),
    ],
)
def test_the_first_true_error(output: str, error: str) -> None:
    assert first_error(output).startswith(error)


def test_the_error_that_is_shown_is_the_one_that_is_explained() -> None:
    checks = tuple(read_catalogue().checks.values())
    line = "x.h:82:10: fatal error: crt/host_config.h: No such file or directory"
    assert explaining_check(line, checks) == "toolkit.incomplete"
    assert explained_by("error: cub, thrust and cuda/std are of different CCCL versions") == "toolkit.cccl-mixed"
    assert explained_by("error: cuInit returned 34 (CUDA_ERROR_STUB_LIBRARY: ...)") == "toolkit.libcuda-stub-missing"
    assert explained_by("a.cu(4): error: expected a ;") == ""


def test_every_check_that_explains_is_there() -> None:
    assert set(EXPLAINED_BY.values()) <= read_catalogue().checks.keys()


def test_what_was_read_and_where_else_it_could_appear(tmp_path: Path) -> None:
    scratch, first, second = tmp_path / "scratch", tmp_path / "include", tmp_path / "include/cccl"
    for folder in (scratch, second / "cuda"):
        folder.mkdir(parents=True)
    header = second / "cuda/std with space.h"
    header.write_text("")
    (scratch / "probe.ii").write_text(f'# 0 "{scratch}/probe.cu"\n# 1 "{header}" 1 3\nint x;\n# 1 "{header}" 2\n')
    asked = rung(include_dirs=(str(first), str(second)), command=(str(tmp_path / "nvcc"),))
    found = files_read(asked, str(scratch), {"PATH": ""})
    assert set(found) == {str(header), str(first / "cuda/std with space.h")}


def test_a_pass_is_kept_while_all_stays_as_it_was(tmp_path: Path) -> None:
    cache, header, absent = ProofCache(str(tmp_path / "cache")), tmp_path / "a.h", tmp_path / "first/a.h"
    header.write_text("1")
    key = cache.key(rung(), {"PATH": "/bin"})
    assert not cache.holds(key)
    cache.keep(key, [str(header), str(absent)])
    assert cache.holds(key)
    assert cache.key(rung(), {"PATH": "/bin", "NVCC_APPEND_FLAGS": "-G"}) != key
    assert cache.key(rung(), {"PATH": "/bin", "TERM": "xterm"}) == key
    before = header.stat()
    header.write_text("2")
    os.utime(header, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not cache.holds(key)
    cache.keep(key, [str(header), str(absent)])
    assert cache.holds(key)
    absent.parent.mkdir()
    absent.write_text("2")
    assert not cache.holds(key)
    (tmp_path / "cache" / f"{key}.json").write_bytes(b"not json")
    assert not cache.holds(key)


def test_nothing_is_kept_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ProofCache(str(tmp_path / "file/cache"))
    cache.keep("key", [str(tmp_path / "file")])
    assert not cache.holds("key")

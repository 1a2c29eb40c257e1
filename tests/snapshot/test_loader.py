"""The loader's search path, and its cache read against the machine's own and against garbage."""

from __future__ import annotations

import random
import re
import shutil
import struct
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm120kit.snapshot.files import Files
from sm120kit.snapshot.loader import Loader, cached_paths, variable_dirs
from tests.programs import require_program
from tests.snapshot.targets import context

X86, ARM, I386 = 0x0303, 0x0A03, 0x0003


def cache(*entries: tuple[str, int, str], old: int = -1) -> bytes:
    """A cache as ldconfig writes it; ``old`` >= 0 puts the former format with so many entries before it."""
    strings, rows = b"", []
    first = 48 + 24 * len(entries)
    for name, flags, path in entries:
        key, strings = first + len(strings), strings + name.encode() + b"\0"
        value, strings = first + len(strings), strings + path.encode() + b"\0"
        rows.append(struct.pack("<iIIIQ", flags, key, value, 0, 0))
    header = struct.pack("<20sIIB3xI12x", b"glibc-ld.so.cache1.1", len(entries), len(strings), 2, 0)
    former = b""
    if old >= 0:
        former = b"ld.so-1.7.0\0" + struct.pack("<I", old) + bytes(12 * old)
        former += bytes(-len(former) % 8)
    return former + header + b"".join(rows) + strings


CACHE = cache(
    ("libcuda.so.1", X86, "/usr/lib/x86_64-linux-gnu/libcuda.so.1"),
    ("libcuda.so.1", I386, "/usr/lib32/libcuda.so.1"),
    ("libcuda.so.1", X86, "/opt/second/libcuda.so.1"),
    ("xlibcuda.so.1", X86, "/opt/wrong/libcuda.so.1"),
    ("libcuda.so", X86, "/opt/wrong/libcuda.so"),
    ("libcuda.so.1", ARM, "/usr/lib/aarch64-linux-gnu/libcuda.so.1"),
)


def test_only_libraries_of_the_architecture_count() -> None:
    assert cached_paths(CACHE, "libcuda.so.1", "x86_64") == (
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        "/opt/second/libcuda.so.1",
    )
    assert cached_paths(CACHE, "libcuda.so.1", "aarch64") == ("/usr/lib/aarch64-linux-gnu/libcuda.so.1",)
    assert len(cached_paths(CACHE, "libcuda.so.1", "")) == 4
    assert cached_paths(CACHE, "libnothing.so.1", "x86_64") == ()


@pytest.mark.parametrize("old", [0, 1, 2, 7])
def test_the_former_format_may_stand_before(old: int) -> None:
    both = cache(("libcuda.so.1", X86, "/a/libcuda.so.1"), old=old)
    assert cached_paths(both, "libcuda.so.1", "x86_64") == ("/a/libcuda.so.1",)


def test_the_cache_of_this_machine() -> None:
    program = shutil.which("ldconfig") or shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if program is None:
        require_program("ldconfig")
    answer = subprocess.run([str(program), "-p"], capture_output=True, text=True, check=True).stdout
    expected = defaultdict(list)
    for name, kind, path in re.findall(r"^\t(\S+) \((.*?)\) => (.*)$", answer, re.MULTILINE):
        if kind.startswith(("libc6,x86-64", "libc6,AArch64")):
            expected[name].append(path)
    machine = Loader.of(context()).machine
    content = Path("/etc/ld.so.cache").read_bytes()
    assert expected
    for name, paths in expected.items():
        assert cached_paths(content, name, machine) == tuple(paths)


@given(st.integers(0, len(CACHE)))
def test_a_truncated_cache(length: int) -> None:
    found = cached_paths(CACHE[:length], "libcuda.so.1", "x86_64")
    assert set(found) <= {"/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/opt/second/libcuda.so.1"}


@given(st.integers(0, 1 << 32), st.integers(1, 60))
def test_a_damaged_cache(seed: int, damages: int) -> None:
    chance = random.Random(seed)
    damaged = bytearray(chance.choice([CACHE, cache(("libcuda.so.1", X86, "/a/libcuda.so.1"), old=3)]))
    for _ in range(damages):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    found = cached_paths(bytes(damaged), "libcuda.so.1", chance.choice(["x86_64", "aarch64", ""]))
    assert all(path.startswith("/") and "\0" not in path for path in found)


@given(st.binary(max_size=300), st.sampled_from([b"", b"ld.so-1.7.0\0", b"glibc-ld.so.cache1.1"]))
def test_garbage(content: bytes, start: bytes) -> None:
    cached_paths(start + content, "libcuda.so.1", "x86_64")


def test_folders_of_the_variable() -> None:
    assert variable_dirs("/a:/b;/c::relative:$ORIGIN/lib:/a/") == ("/a", "/b", "/c", "/a/")
    assert variable_dirs("") == ()


def test_the_order_is_variable_then_cache_then_default_folders(tmp_path: Path) -> None:
    real = tmp_path / "usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05"
    for path in (real, tmp_path / "opt/cached/libcuda.so.1", tmp_path / "usr/local/cuda/compat/libcuda.so.1"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    (real.parent / "libcuda.so.1").symlink_to(real.name)
    (tmp_path / "lib").symlink_to("usr/lib")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ld.so.cache").write_bytes(cache(("libcuda.so.1", X86, "/opt/cached/libcuda.so.1")))
    loader = Loader(Files(str(tmp_path)), ("/missing", "/usr/local/cuda/compat"), "x86_64")
    assert loader.find_all("libcuda.so.1") == (
        "/usr/local/cuda/compat/libcuda.so.1",
        "/opt/cached/libcuda.so.1",
        "/lib/x86_64-linux-gnu/libcuda.so.1",
    )


def test_a_folder_a_loop_and_a_dangling_link_are_no_libraries(tmp_path: Path) -> None:
    (tmp_path / "a/libcuda.so.1").mkdir(parents=True)
    for name, target in (("b", "libcuda.so.1"), ("c", "nowhere")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "libcuda.so.1").symlink_to(target)
    assert Loader(Files(str(tmp_path)), ("/a", "/b", "/c"), "x86_64").find_all("libcuda.so.1") == ()


@pytest.mark.parametrize(("number", "machine"), [(62, "x86_64"), (183, "aarch64"), (8, "")])
def test_an_image_tells_its_architecture_by_a_program(tmp_path: Path, number: int, machine: str) -> None:
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "usr/bin/sh").symlink_to("dash")
    (tmp_path / "usr/bin/dash").write_bytes(b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + number.to_bytes(2, "little"))
    assert Loader.of(context(root=tmp_path, environment={})).machine == machine

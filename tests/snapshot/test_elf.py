"""Reading shared objects: against libraries that gcc has just made, and against files that are none."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sm120kit.snapshot.elf import needed_sonames, open_library, symbol_hash
from sm120kit.snapshot.files import Files
from tests.programs import require_program
from tests.snapshot.shared_libraries import library

FILES = Files()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_program("gcc")
    folder = tmp_path_factory.mktemp("elf")
    library(
        folder / "ours.so",
        defines=[f"_ZN3c10own{number}" for number in range(300)],
        takes=["_ZN3c10taken", "_ZN2at_other", "strlen_like"],
        weakly=["_ZN3c10maybe"],
        needs=["libcudart.so.13", "libnuma.so.1"],
        runpath="$ORIGIN/../lib:/opt/lib",
    )
    library(folder / "old.so", defines=["nothing"], rpath="/opt/old")
    return folder


def test_what_it_needs_and_where_it_looks(built: Path) -> None:
    found = open_library(FILES, str(built / "ours.so"))
    assert found.needed == ("libcudart.so.13", "libnuma.so.1")
    assert found.search_dirs == ("$ORIGIN/../lib", "/opt/lib")
    assert open_library(FILES, str(built / "old.so")).search_dirs == ("/opt/old",)
    assert needed_sonames(str(built / "ours.so")) == found.needed


def test_symbols_that_it_takes(built: Path) -> None:
    found = open_library(FILES, str(built / "ours.so"))
    assert set(found.undefined((b"_ZN3c10", b"_ZN2at"))) == {b"_ZN3c10taken", b"_ZN2at_other"}
    assert found.undefined((b"nobody",)) == ()


def test_symbols_that_it_has(built: Path) -> None:
    found = open_library(FILES, str(built / "ours.so"))
    own = {symbol_hash(f"_ZN3c10own{number}".encode()) for number in range(300)}
    others = {symbol_hash(f"_ZN3c10not{number}".encode()) for number in range(300)}
    assert found.exports(own | others) == own
    assert found.exports([symbol_hash(b"_ZN3c10taken")]) == frozenset()


def test_hash_of_a_known_name() -> None:
    assert symbol_hash(b"") == 5381
    assert symbol_hash(b"printf") == 0x156B2BB8


@pytest.mark.parametrize(
    "content",
    [b"", b"\x7fELF", b"!<arch>\n", b"\x7fELF\x01\x01" + bytes(200), b"\x7fELF\x02\x01" + bytes(200)],
    ids=["empty", "cut", "archive", "32 bits", "no segments"],
)
def test_files_that_are_no_libraries(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file.so").write_bytes(content)
    with pytest.raises(ValueError, match=r"file\.so"):
        open_library(FILES, str(tmp_path / "file.so"))


@settings(max_examples=200, deadline=None)
@given(place=st.integers(0, 3000), garbage=st.binary(min_size=1, max_size=64), cut=st.integers(0, 1 << 14))
def test_a_damaged_library_is_an_error_of_its_own_kind(
    built: Path, tmp_path_factory: pytest.TempPathFactory, place: int, garbage: bytes, cut: int
) -> None:
    whole = (built / "ours.so").read_bytes()
    damaged = tmp_path_factory.mktemp("damaged") / "x.so"
    damaged.write_bytes((whole[:place] + garbage + whole[place + len(garbage) :])[: len(whole) - cut % len(whole)])
    with contextlib.suppress(ValueError, OSError):
        found = open_library(FILES, str(damaged))
        _ = found.needed, found.search_dirs
        found.undefined((b"_ZN",))
        found.exports([symbol_hash(b"_ZN3c10own1")])


def test_the_table_of_symbols_is_bounded(built: Path, tmp_path: Path) -> None:
    found = open_library(FILES, str(built / "ours.so"))
    address = dict(found.tags)[0x6FFFFEF5]
    place = next(
        address - start + offset for start, length, offset in found.segments if start <= address < start + length
    )
    content = bytearray((built / "ours.so").read_bytes())
    struct.pack_into("<I", content, place + 4, 0xFFFFFFF0)
    (tmp_path / "huge.so").write_bytes(content)
    with pytest.raises(ValueError, match="more than are read"):
        open_library(FILES, str(tmp_path / "huge.so")).undefined((b"_ZN",))

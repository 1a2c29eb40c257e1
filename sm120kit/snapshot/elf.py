"""What a shared object says of itself: the libraries it needs, where it looks for them, and its symbols.

Only the dynamic section is read, and the tables that it leads to, each by its place in the file: a few pages of files
that weigh hundreds of megabytes. Layouts are those of elf.h (64-bit, little-endian: x86_64 and aarch64).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cached_property

import msgspec

from sm120kit.snapshot.files import Files

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 5, 6, 10, 14, 15, 29
_DT_GNU_HASH = 0x6FFFFEF5
_STB_WEAK = 2
_SYMBOL_SIZE = 24
_FIRST_READ = 4096
_DYNAMIC_LIMIT = 1 << 16
_NAMES_LIMIT = 32 << 20
_SYMBOLS_LIMIT = 4 << 20
_HASHES_LIMIT = 16 << 20
_LONGEST_CHAIN = 1024

_HEADER = struct.Struct("<4sBB10xHHIQQQIHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_DYNAMIC = struct.Struct("<qQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_WORD, _HALF = struct.Struct("<Q"), struct.Struct("<I")


class SharedLibrary(msgspec.Struct, frozen=True, dict=True):
    """One ELF file, opened for questions. Every answer raises OSError or ValueError as :func:`open_library` does."""

    files: Files
    path: str
    segments: tuple[tuple[int, int, int], ...]
    """Virtual address, size in the file and offset of every loaded segment."""
    tags: tuple[tuple[int, int], ...]
    """The dynamic section."""

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """DT_NEEDED entries in their order."""
        return self._strings(_DT_NEEDED)

    @cached_property
    def search_dirs(self) -> tuple[str, ...]:
        """Folders of DT_RUNPATH, or of DT_RPATH where there is none; ``$ORIGIN`` is still in them."""
        paths = self._strings(_DT_RUNPATH) or self._strings(_DT_RPATH)
        return tuple(folder for path in paths for folder in path.split(":") if folder)

    def undefined(self, prefixes: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Symbols that it takes from others, beginning with one of ``prefixes``; weak ones, which may be missing,
        left out. Linkers put what is not defined before what the hash table covers."""
        count = self._first_hashed
        address = self._value(_DT_SYMTAB)
        if not count or address is None:
            return ()
        if count * _SYMBOL_SIZE > _SYMBOLS_LIMIT:
            raise ValueError(f"{self.path} takes {count} symbols from others, more than are read")
        table = self._at(address, count * _SYMBOL_SIZE)
        wanted = [
            name
            for name, info, _, section, _, _ in _SYMBOL.iter_unpack(table[: len(table) // _SYMBOL_SIZE * _SYMBOL_SIZE])
            if name and section == 0 and info >> 4 != _STB_WEAK
        ]
        names = self._names
        found = (names[start : names.find(b"\0", start)] for start in wanted if names.startswith(prefixes, start))
        return tuple(found)

    def exports(self, hashes: Iterable[int]) -> frozenset[int]:
        """Those of some GNU hashes (:func:`symbol_hash`) that its own symbols have."""
        address = self._value(_DT_GNU_HASH)
        if address is None:
            raise ValueError(f"{self.path} has no GNU hash table")
        count, first, bloom_words, shift = struct.unpack("<IIII", self._at(address, 16))
        if not count or not bloom_words or 8 * bloom_words + 4 * count > _HASHES_LIMIT:
            raise ValueError(f"{self.path} has a damaged GNU hash table")
        table = self._at(address + 16, 8 * bloom_words + 4 * count)
        if len(table) < 8 * bloom_words + 4 * count:
            raise ValueError(f"{self.path} ends inside its GNU hash table")
        starts = {}
        for value in hashes:
            (word,) = _WORD.unpack_from(table, 8 * (value // 64 % bloom_words))
            (bucket,) = _HALF.unpack_from(table, 8 * bloom_words + 4 * (value % count))
            if word >> value % 64 & 1 and word >> (value >> shift) % 64 & 1 and bucket >= first:
                starts[value] = 4 * (bucket - first)
        if not starts:
            return frozenset()
        size = min(max(starts.values()) + 4 * _LONGEST_CHAIN, _HASHES_LIMIT)
        chains = self._at(address + 16 + len(table), size)
        return frozenset(value for value, start in starts.items() if _in_chain(chains, start, value))

    @cached_property
    def _first_hashed(self) -> int:
        address = self._value(_DT_GNU_HASH)
        return struct.unpack("<I", self._at(address + 4, 4))[0] if address is not None else 0

    @cached_property
    def _names(self) -> bytes:
        address, size = self._value(_DT_STRTAB), self._value(_DT_STRSZ)
        if address is None or size is None or size > _NAMES_LIMIT:
            raise ValueError(f"{self.path} has no table of names that can be read")
        return self._at(address, size)

    def _strings(self, tag: int) -> tuple[str, ...]:
        offsets = [value for each, value in self.tags if each == tag]
        names = self._names if offsets else b""
        ends = [(start, names.find(b"\0", start)) for start in offsets]
        if any(end < 0 for _, end in ends):
            raise ValueError(f"{self.path} names a library outside of its table of names")
        return tuple(names[start:end].decode("utf-8", "surrogateescape") for start, end in ends)

    def _value(self, tag: int) -> int | None:
        return next((value for each, value in self.tags if each == tag), None)

    def _at(self, address: int, size: int) -> bytes:
        for start, length, offset in self.segments:
            if start <= address < start + length:
                return self.files.pieces(self.path, [(address - start + offset, size)])[0]
        raise ValueError(f"{self.path} leads to the address {address:#x}, which is not in the file")


def open_library(files: Files, path: str) -> SharedLibrary:
    """Read the dynamic section of a shared object.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no ELF file of 64 bits, or a damaged one.
    """
    begin = files.pieces(path, [(0, _FIRST_READ)])[0]
    try:
        magic, bits, order, _, _, _, _, place, _, _, _, size, count = _HEADER.unpack_from(begin)
        if magic != b"\x7fELF" or (bits, order) != (2, 1) or size != _SEGMENT.size:
            raise ValueError(f"{path} is not a 64-bit ELF file")
        table = begin[place : place + size * count]
        if len(table) < size * count:
            table = files.pieces(path, [(place, size * count)])[0]
        segments = list(_SEGMENT.iter_unpack(table))
        dynamic = next((each for each in segments if each[0] == _PT_DYNAMIC), None)
        if dynamic is None:
            raise ValueError(f"{path} is not a shared object")
        section = files.pieces(path, [(dynamic[2], min(dynamic[5], _DYNAMIC_LIMIT))])[0]
        return SharedLibrary(
            files,
            path,
            tuple(
                (address, length, offset) for kind, _, offset, address, _, length, _, _ in segments if kind == _PT_LOAD
            ),
            tuple(_DYNAMIC.iter_unpack(section[: len(section) // _DYNAMIC.size * _DYNAMIC.size])),
        )
    except struct.error as error:
        raise ValueError(f"{path} is not a sound ELF file: {error}") from error


def needed_sonames(path: str) -> tuple[str, ...]:
    """DT_NEEDED entries of a file of ours in their order.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no ELF file, or a damaged one.
    """
    return open_library(Files(), path).needed


def symbol_hash(name: bytes) -> int:
    """The hash by which a GNU hash table finds a symbol."""
    value = 5381
    for byte in name:
        value = value * 33 + byte & 0xFFFFFFFF
    return value


def _in_chain(chains: bytes, start: int, value: int) -> bool:
    """Whether one of a bucket's hashes is ``value``; the lowest bit marks the last of them."""
    for place in range(start, min(start + 4 * _LONGEST_CHAIN, len(chains) - 3), 4):
        (word,) = _HALF.unpack_from(chains, place)
        if word | 1 == value | 1:
            return True
        if word & 1:
            return False
    return False

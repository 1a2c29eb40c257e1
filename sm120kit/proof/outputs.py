"""Looks at what a rung made: a program that ended with 0 has not thereby done its work.

Every function answers with what is wrong, as a line that begins with ``error:``, or with an empty string.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator

from sm120kit.proof.types import Rung

_FATBIN_MAGIC = 0xBA55ED50
_MACHINE_CODE = 2
"""Kind of a fat binary's entry; 1 is PTX."""
_LARGEST = 256 << 20

EXPLAINED_BY = {
    "are of different CCCL versions": "toolkit.cccl-mixed",
    "The version of CUB in your include path is not compatible with this release of Thrust": "toolkit.cccl-mixed",
    "CUDA_ERROR_STUB_LIBRARY": "toolkit.libcuda-stub-missing",
    "undefined reference to `cuda": "toolkit.cudart-unlinkable",
    "undefined reference to `__cuda": "toolkit.cudart-unlinkable",
    "undefined reference to `cu": "toolkit.libcuda-stub-missing",
    "at run time, and not for libcudart": "toolkit.cudart-unlinkable",
    "at run time, and not for libcuda.so.1": "toolkit.libcuda-stub-missing",
}
"""Words that a proof's own sources and questions bring forth, with the check whose page explains them."""


def explained_by(error: str) -> str:
    """Id of the check whose page explains an error that only a proof meets; empty where none does."""
    return next((check for words, check in EXPLAINED_BY.items() if words in error), "")


def fault_in(rung: Rung, scratch: str) -> str:
    """What is wrong with the file that ``rung`` was to make; empty where it made what it should."""
    if not rung.output:
        return ""
    path = os.path.join(scratch, rung.output)
    program = os.path.basename(rung.command[0])
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            content = file.read(_LARGEST)
    except OSError as error:
        return f"error: {program} ended with 0 and made no {rung.output}: {error.strerror}"
    if not content:
        return f"error: {program} ended with 0, and the {rung.output} that it made is empty"
    lost = [word for word in rung.holds if word.encode() not in content]
    if lost:
        return f"error: {program} ended with 0, and what it read does not hold {', '.join(lost)}"
    if rung.machine_code:
        return _without_code(rung, path, program)
    return _asks_for_others(rung, path) if rung.needed else ""


def _without_code(rung: Rung, path: str, program: str) -> str:
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with open(path, "rb") as file:  # noqa: PTH123
            found = [each.data() for each in ELFFile(file).iter_sections() if each.name == ".nv_fatbin"]
    except (OSError, ELFError, UnicodeDecodeError) as error:
        return f"error: {program} ended with 0, and the object that it made cannot be read: {error}"
    there = {number for content in found for number in _architectures(content)}
    missing = [f"sm_{number}" for number in rung.machine_code if number not in there]
    if not missing:
        return ""
    listed = ", ".join(f"sm_{number}" for number in sorted(there)) or "no GPU"
    return f"error: {program} ended with 0, and the object that it made holds code for {listed}, not {missing[0]}"


def _architectures(fatbin: bytes) -> Iterator[int]:
    """Compute capabilities (``120``) of the machine code in an object's ``.nv_fatbin`` section."""
    start = fatbin.find(struct.pack("<I", _FATBIN_MAGIC))
    while start >= 0 and start + 16 <= len(fatbin):
        _, _, header, size = struct.unpack_from("<IHHQ", fatbin, start)
        at, end = start + header, min(start + header + size, len(fatbin))
        while at + 32 <= end:
            kind, _, entry_header, entry_size = struct.unpack_from("<HHIQ", fatbin, at)
            if kind == _MACHINE_CODE:
                yield struct.unpack_from("<I", fatbin, at + 28)[0]
            at += max(entry_header + entry_size, 1)
        start = fatbin.find(struct.pack("<I", _FATBIN_MAGIC), max(end, start + 4))


def _asks_for_others(rung: Rung, path: str) -> str:
    from sm120kit.snapshot.elf import needed_sonames

    try:
        needed = needed_sonames(path)
    except (OSError, ValueError) as error:
        return f"error: the linked library cannot be read: {error}"
    for wanted in rung.needed:
        if not any(re.fullmatch(wanted, each) for each in needed):
            asks = ", ".join(needed) or "nothing"
            name = re.sub(r"\\d\+|\\", "", wanted).rstrip(".")
            return f"error: the linked library asks for {asks} at run time, and not for {name}"
    return ""

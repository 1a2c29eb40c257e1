"""Files that a wheel put into a CUDA tree and that are not there any more."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Mapping

from sm120kit.snapshot.files import Files
from sm120kit.snapshot.records import RecordIndex
from sm120kit.snapshot.types.toolkits import COMPILE_HEADERS, GoneFile


def gone_headers(
    files: Files, records: RecordIndex, names: Mapping[str, Collection[str]], crt: str
) -> Iterator[GoneFile]:
    """Headers of :data:`COMPILE_HEADERS` that no include folder holds, although a RECORD lists them in one.

    ``names`` are the include folders with what they hold, ``crt`` is the folder whose crt the compiler takes. A RECORD
    is asked about what is missing alone, so that a whole tree costs the listing of one folder.
    """
    present = {name for held in names.values() for name in held}
    held_crt = {f"crt/{name}" for name in _names(files, f"{crt}/crt")} if crt else set(COMPILE_HEADERS)
    for header in COMPILE_HEADERS:
        if header in (held_crt if header.startswith("crt/") else present):
            continue
        for folder in (crt,) if header.startswith("crt/") else names:
            if owners := records.owners(f"{folder}/{header}"):
                yield GoneFile(f"{folder}/{header}", owners[-1].owner, for_every_compile=True)
                break


def gone_files(files: Files, records: RecordIndex, home: str) -> Iterator[GoneFile]:
    """Every file below ``home`` that a RECORD lists and that is gone: thousands of rows, and each folder once."""
    held: dict[str, set[str]] = {}
    for path, owned in records.below(home):
        folder, name = posixpath.split(path)
        if folder not in held:
            held[folder] = set(_names(files, folder))
        if name not in held[folder]:
            yield GoneFile(path, owned.owner)


def _names(files: Files, folder: str) -> list[str]:
    try:
        return files.names(folder)
    except OSError:
        return []

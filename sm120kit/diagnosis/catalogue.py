"""Reads check files by path, never by import name: the same reader serves ours and ``--checks-dir``."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
import zlib
from collections.abc import Iterable, Iterator
from types import ModuleType

import msgspec
from msgspec.structs import replace

from sm120kit.data import data_path
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.errors import Sm120kitError

PAGE_HEADINGS = ("What it finds", "Why it matters", "How it is found", "Remedy", "Sources")


class Catalogue(msgspec.Struct, frozen=True):
    """All checks, and the failures that only a log can show, each by id in the order of their ids."""

    checks: dict[str, Check]
    failures: dict[str, LogFailure] = {}

    @property
    def entries(self) -> dict[str, Check | LogFailure]:
        """Everything that has a page, by id in the order of the ids."""
        entries: dict[str, Check | LogFailure] = {**self.checks, **self.failures}
        return {check_id: entries[check_id] for check_id in sorted(entries)}

    def get(self, check_id: str) -> Check | LogFailure:
        """The check, or the failure known from logs, of that id.

        Raises:
            Sm120kitError: there is none; the hint names the nearest ids.
        """
        entries = self.entries
        if check_id in entries:
            return entries[check_id]
        from difflib import get_close_matches

        near = get_close_matches(check_id, entries, n=3, cutoff=0.4)
        hint = f"Did you mean {' or '.join(near)}?" if near else "List them with: sm120kit checks"
        raise Sm120kitError(f"there is no check {check_id!r}", hint=hint)


def read_catalogue(extra_dirs: Iterable[str | os.PathLike[str]] = ()) -> Catalogue:
    """Read every check file of the package, then of ``extra_dirs``.

    Raises:
        Sm120kitError: an extra folder does not exist, a file does not load, or an id is there twice.
    """
    entries: dict[str, Check | LogFailure] = {}
    for folder in (data_path("checks"), *(os.fspath(each) for each in extra_dirs)):
        if not os.path.isdir(folder):
            raise Sm120kitError(f"{folder} is not a folder of checks", hint="Give --checks-dir a folder of .py files")
        for path in _check_files(folder):
            for found in _read_file(path, folder):
                if found.id in entries:
                    raise Sm120kitError(
                        f"check {found.id!r} is defined twice: in {entries[found.id].path} and in {found.path}",
                        hint="Give one of them another id",
                    )
                entries[found.id] = found
    ordered = sorted(entries.items())
    return Catalogue(
        {check_id: entry for check_id, entry in ordered if isinstance(entry, Check)},
        {check_id: entry for check_id, entry in ordered if isinstance(entry, LogFailure)},
    )


def _check_files(folder: str) -> Iterator[str]:
    """Every ``.py`` file in a folder and below it, sorted within each."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (os.path.join(place, name) for name in sorted(names) if name.endswith(".py"))


def _read_file(path: str, folder: str) -> list[Check | LogFailure]:
    module = _load(path, folder)
    return [
        replace(value, page=module.__doc__ or "", path=path, signatures=tuple(getattr(module, "SIGNATURES", ())))
        for value in vars(module).values()
        if isinstance(value, (Check, LogFailure))
    ]


def _load(path: str, folder: str) -> ModuleType:
    stem = os.path.relpath(path, folder).removesuffix(".py").replace(os.sep, "_")
    name = f"sm120kit._checks.{stem}_{zlib.crc32(os.fsencode(folder)):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Sm120kitError(f"{path} cannot be read as a check file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise Sm120kitError(
            f"check file {path} does not load: {type(error).__name__}: {error} ({last.filename}:{last.lineno})",
            hint="Mend the file, or leave its folder out of --checks-dir",
        ) from error
    return module

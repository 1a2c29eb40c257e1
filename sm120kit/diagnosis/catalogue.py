"""Reads check files by path, never by import name: the same reader serves ours and ``--checks-dir``."""

from __future__ import annotations

import importlib.util
import sys
import traceback
import zlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import msgspec
from msgspec.structs import replace

from sm120kit.data import data_dir
from sm120kit.diagnosis.registry import Check
from sm120kit.errors import Sm120kitError

PAGE_HEADINGS = ("What it finds", "Why it matters", "How it is found", "Remedy", "Sources")


class Catalogue(msgspec.Struct, frozen=True):
    """All checks by id, in the order of their ids."""

    checks: dict[str, Check]

    def get(self, check_id: str) -> Check:
        """The check of that id.

        Raises:
            Sm120kitError: no such check; the hint names the nearest ids.
        """
        if check_id in self.checks:
            return self.checks[check_id]
        from difflib import get_close_matches

        near = get_close_matches(check_id, self.checks, n=3, cutoff=0.4)
        hint = f"Did you mean {' or '.join(near)}?" if near else "List them with: sm120kit checks"
        raise Sm120kitError(f"there is no check {check_id!r}", hint=hint)


def read_catalogue(extra_dirs: Iterable[Path] = ()) -> Catalogue:
    """Read every check file of the package, then of ``extra_dirs``.

    Raises:
        Sm120kitError: an extra folder does not exist, a file does not load, or an id is there twice.
    """
    checks: dict[str, Check] = {}
    for folder in (data_dir("checks"), *extra_dirs):
        if not folder.is_dir():
            raise Sm120kitError(f"{folder} is not a folder of checks", hint="Give --checks-dir a folder of .py files")
        for path in sorted(folder.rglob("*.py")):
            for found in _read_file(path, folder):
                if found.id in checks:
                    raise Sm120kitError(
                        f"check {found.id!r} is defined twice: in {checks[found.id].path} and in {found.path}",
                        hint="Give one of them another id",
                    )
                checks[found.id] = found
    return Catalogue(dict(sorted(checks.items())))


def _read_file(path: Path, folder: Path) -> list[Check]:
    module = _load(path, folder)
    return [
        replace(value, page=module.__doc__ or "", path=str(path), signatures=tuple(getattr(module, "SIGNATURES", ())))
        for value in vars(module).values()
        if isinstance(value, Check)
    ]


def _load(path: Path, folder: Path) -> ModuleType:
    stem = "_".join(path.relative_to(folder).with_suffix("").parts)
    name = f"sm120kit._checks.{stem}_{zlib.crc32(str(folder).encode()):08x}"
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

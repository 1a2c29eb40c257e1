"""Reads check files by path, never by import name: the same reader serves ours and ``--checks-dir``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import SourceFileLoader
from types import ModuleType

import msgspec
from msgspec.structs import replace

from sm120kit.data import data_path
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.errors import Sm120kitError
from sm120kit.nearest import did_you_mean

_MEND = "Mend the file, or leave its folder out of --checks-dir"

PAGE_HEADINGS = ("What it finds", "Why it matters", "How it is found", "Remedy", "Sources")


class Catalogue(msgspec.Struct, frozen=True):
    """All checks, and the failures that only a log can show, each by id in the order of their ids."""

    checks: dict[str, Check]
    failures: dict[str, LogFailure] = {}
    remarks: tuple[str, ...] = ()
    """Sentences about files of own checks whose pages are not as they should be."""

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
        family = check_id.removesuffix(".*")
        if members := [each for each in entries if each.startswith(f"{family}.")]:
            raise Sm120kitError(f"{check_id!r} is a family of checks", hint="Name one of it", listed=members)
        if " " in check_id.strip():
            hint = "For the text of an error, give why the log that it stands in, or pipe it in: ... | sm120kit why -"
        else:
            hint = did_you_mean(check_id, entries, otherwise="List them with: sm120kit checks", most=3)
        raise Sm120kitError(f"there is no check {check_id!r}", hint=hint)


def read_catalogue(extra_dirs: Iterable[str | os.PathLike[str]] = (), *, failures: bool = True) -> Catalogue:
    """Read every check file of the package, then of ``extra_dirs``.

    Without ``failures`` only what can run: no failures known from logs alone, and no page and signatures of checks
    that name a need. That is quicker.

    Raises:
        Sm120kitError: an extra folder does not exist, a file does not load, or an id is there twice.
    """
    entries: dict[str, Check | LogFailure] = {}
    remarks: list[str] = []
    own = data_path("checks")
    for folder in (own, *(os.fspath(each) for each in extra_dirs)):
        if not os.path.isdir(folder):
            raise Sm120kitError(f"{folder} is not a folder of checks", hint="Give --checks-dir a folder of .py files")
        # Only of our own files it is known what one without a mark means. Of others each is loaded, or refused.
        read = _read_quickly if folder == own and not failures else _read_file
        paths = list(_check_files(folder))
        if not paths:
            raise Sm120kitError(f"the folder {folder} holds no check", hint="Give --checks-dir a folder of .py files")
        for path in paths:
            read_here = read(path)
            if folder != own:
                remarks += _remarks(path, read_here)
            for found in read_here:
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
        tuple(remarks),
    )


def _remarks(path: str, found: Iterable[Check | LogFailure]) -> Iterator[str]:
    """What keeps a file of own checks from being a check with a whole page; a name with ``_`` before it says that the
    file is none."""
    pages = {entry.page for entry in found}
    if not pages and not os.path.basename(path).startswith("_"):
        yield f'{path} holds no check: none of its functions is marked with @check("family.name")'
    for page in pages:
        headings = [line[3:].strip() for line in page.splitlines() if line.startswith("## ")]
        lacking = ", ".join(f"## {heading}" for heading in PAGE_HEADINGS if heading not in headings)
        strange = ", ".join(f"## {heading}" for heading in headings if heading not in PAGE_HEADINGS)
        if lacking or strange:
            said = (f"lacks {lacking}" * bool(lacking), f"has {strange}, which no page has" * bool(strange))
            yield f"{path}: its page {' and '.join(filter(None, said))}"


def _check_files(folder: str) -> Iterator[str]:
    """Every ``.py`` file in a folder and below it, sorted within each."""
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        raise Sm120kitError(
            f"the folder of checks {error.filename} cannot be read: {error.strerror}", hint=_MEND
        ) from error
    folders = []
    for entry in entries:
        if entry.is_dir():
            folders.append(entry)
        elif entry.name.endswith(".py"):
            yield entry.path
    for each in folders:
        if each.name != "__pycache__" and not each.is_symlink():
            yield from _check_files(each.path)


def _read_quickly(path: str) -> list[Check | LogFailure]:
    """The checks of a file without its page: nothing of one that holds none, and one with a need only when that is
    met."""
    try:
        source = _source(path)
    except OSError:
        return _read_file(path)  # which says why it cannot be read
    marks = source.count(b"@check(")
    if not marks:
        return []
    line = source[source.index(b"@check(") :].partition(b"\n")[0]
    match line.split(b'"'):
        case [b"@check(", check_id, b", needs=", need, b")"] if marks == 1:
            from sm120kit.diagnosis.needs import NEEDS, only_with

            word = need.decode()
            if word in NEEDS:
                return [Check(check_id.decode(), only_with(word, lambda: _only_check(path).run), path=path)]
    return _read_file(path)


def _source(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def _only_check(path: str) -> Check:
    return next(found for found in _read_file(path) if isinstance(found, Check))


def _read_file(path: str) -> list[Check | LogFailure]:
    module = _load(path)
    return [
        replace(value, page=module.__doc__ or "", path=path, signatures=tuple(getattr(module, "SIGNATURES", ())))
        for value in vars(module).values()
        if isinstance(value, (Check, LogFailure))
    ]


def _load(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise Sm120kitError(f"check file {path} does not load: it is no regular file", hint=_MEND)
    name = f"sm120kit._checks.{os.fsencode(path).hex()}"
    loader = SourceFileLoader(name, path)
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    try:
        # What importlib does besides costs as much again, for each of some ninety files.
        exec(loader.get_code(name) or "", vars(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: a check file must not end the program that reads it
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        raise Sm120kitError(
            f"check file {path} does not load: {type(error).__name__}: {error} ({last.filename}:{last.lineno})",
            hint=_MEND,
        ) from error
    return module

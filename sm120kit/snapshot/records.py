"""Installed distributions from the names of their dist-info folders, and which wheel owns a file.

Nothing is imported, and no metadata is read before somebody asks for it.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import msgspec

from sm120kit.patterns import pattern
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.types.packages import Distribution

_RECORD_LIMIT = 16 << 20
_COMMA = b"\0"
"""Stands for a comma inside a path, where rows are kept as one text; no path holds this byte."""
_HASH_AND_SIZE = pattern(rb"[^,]*,([0-9]{0,18})")


class Distributions(msgspec.Struct, frozen=True):
    """What is installed: sorted by name, then in the order in which imports would find them."""

    found: tuple[Distribution, ...]
    folders: tuple[str, ...]
    """The folders that were looked through."""
    problem: str = ""
    """A sentence, where a folder could not be listed: then an absent name proves nothing."""

    @classmethod
    def read(cls, files: Files, site_packages: Sequence[str]) -> Distributions:
        """List the dist-info folders directly inside each of ``site_packages``."""
        found: list[tuple[str, int, Distribution]] = []
        problems = []
        for place, folder in enumerate(site_packages):
            try:
                names = files.names(folder)
            except OSError as error:
                problems.append(f"{folder} cannot be listed: {error.strerror}")
                continue
            for entry in names:
                if entry.endswith(".dist-info") and (named := _from_folder_name(entry)):
                    name, version = named
                    found.append((name, place, Distribution(name, version, f"{folder.rstrip('/')}/{entry}")))
        found.sort(key=lambda each: (each[0], each[1], each[2].path))
        return cls(tuple(each for _, _, each in found), tuple(site_packages), "; ".join(problems))

    @property
    def fact(self) -> Fact[tuple[Distribution, ...]]:
        """As a snapshot keeps it."""
        if self.problem:
            return Unknown(self.problem)
        if not self.folders:
            return Unknown("the target has no folder of installed packages")
        return Known(self.found, Source("file", ":".join(self.folders)))

    def first(self, name: str) -> Distribution | None:
        """The distribution of that normalised name which imports find, or ``None``."""
        return next((each for each in self.found if each.name == name), None)

    def starting_with(self, *prefixes: str) -> tuple[Distribution, ...]:
        """Those whose normalised name begins with one of ``prefixes``, such as ``nvidia-``."""
        return tuple(each for each in self.found if each.name.startswith(prefixes))


def normalised(name: str) -> str:
    """A distribution's name as PEP 503 writes it: ``nvidia_cuda.nvcc`` is ``nvidia-cuda-nvcc``."""
    plain = name.lower().replace("_", "-").replace(".", "-")
    return plain if "--" not in plain else re.sub("-+", "-", plain)


def requires(files: Files, distribution: Distribution) -> tuple[str, ...]:
    """The Requires-Dist lines of its METADATA, as written.

    Raises:
        OSError: METADATA cannot be read.
    """
    text = files.text(f"{distribution.path}/METADATA")
    header = text.partition("\n\n")[0]
    return tuple(match.strip() for match in re.findall(r"^Requires-Dist:(.*)$", header, re.MULTILINE))


def missing_requirements(files: Files, name: str, installed: Sequence[Distribution]) -> tuple[str, ...]:
    """What the installed distribution of that name requires by its METADATA, extras and markers aside, and what is not
    installed."""
    known = {each.name for each in installed}
    own = next((each for each in installed if each.name == name), None)
    try:
        lines = requires(files, own) if own else ()
    except OSError:
        return ()
    wanted = (re.match(r"[A-Za-z0-9._-]+", line) for line in lines if ";" not in line)
    return tuple(dict.fromkeys(found[0] for found in wanted if found and normalised(found[0]) not in known))


class Owned(msgspec.Struct, frozen=True):
    """What a RECORD says of one file. ``size`` is in bytes, ``None`` where the row has none."""

    owner: str
    """The wheel: ``name version``."""
    size: int | None


class RecordIndex:
    """Answers whose file a path is, from the RECORDs of the distributions it was made with.

    Each RECORD is read when the first question about its surroundings needs it.
    """

    def __init__(self, files: Files, distributions: Iterable[Distribution]) -> None:
        self._files = files
        self._records = [_Record(files, each, posixpath.dirname(each.path)) for each in distributions]

    @classmethod
    def beside(cls, files: Files, home: str, stem: str = "nvidia/cu13") -> RecordIndex:
        """The index of a tree that keeps dist-info folders in ``home/dist-info``, moved there out of wheels whose
        RECORD rows begin with ``stem``. Empty where there is no such folder."""
        home = home.rstrip("/")
        index = cls(files, ())
        distributions = Distributions.read(files, (f"{home}/dist-info",))
        index._records = [_Record(files, each, home, f"{stem}/".encode()) for each in distributions.found]
        return index

    def owners(self, path: str) -> tuple[Owned, ...]:
        """Every wheel that lists this file, by the name given or, failing that, by its name with links resolved."""
        listed = self._listed(path, real=False)
        if listed:
            return listed
        try:
            real = self._files.real(path)
        except OSError:
            return ()
        return self._listed(real, real=True)

    def _listed(self, path: str, *, real: bool) -> tuple[Owned, ...]:
        keys: dict[str, bytes | None] = {}
        found = []
        for record in self._records:
            base = record.real_base if real else record.base
            if base not in keys:
                keys[base] = _row_of(path, base)
            key = keys[base]
            rest = record.rest_of(key) if key is not None else None
            if rest is not None and (match := _HASH_AND_SIZE.fullmatch(rest)):
                found.append(_owned(record.owner, match))
        return tuple(found)

    def owner(self, path: str) -> Owned | None:
        """The wheel that lists this file; where several do, one whose size fits the file on disk, else the last."""
        owners = self.owners(path)
        if len(owners) < 2:
            return owners[0] if owners else None
        try:
            size = self._files.size(path)
        except OSError:
            return owners[-1]
        return next((owned for owned in owners if owned.size == size), owners[-1])

    def unlisted(self, folder: str, names: Iterable[str]) -> list[str]:
        """Those of a folder's names that no RECORD lists in this very folder: subfolders, files of nobody, and files
        that are links to somebody's (ask :meth:`owner` for these)."""
        left = list(names)
        try:
            real = self._files.real(folder)
        except OSError:
            return left
        for record in self._records:
            for base, spelt in dict.fromkeys(((record.base, folder), (record.real_base, real))):
                if f"{spelt}/".startswith(f"{base}/"):
                    start = f"{spelt}/"[len(base) + 1 :].encode(errors="surrogateescape")
                    if record.lists_below(start):
                        keys = [(name, start + name.encode(errors="surrogateescape")) for name in left]
                        left = [name for name, key in keys if record.rest_of(key) is None]
        return left

    def below(self, folder: str) -> Iterator[tuple[str, Owned]]:
        """Every listed file below a folder, spelt as that folder is: its path and what RECORD says of it."""
        folder = folder.rstrip("/")
        for record in self._records:
            for base in dict.fromkeys((record.base, record.real_base)):
                if not f"{folder}/".startswith(f"{base}/"):
                    continue
                start = f"{folder}/"[len(base) + 1 :].encode(errors="surrogateescape")
                for row, rest in record.rows():
                    if row.startswith(b"/") or not row.startswith(start):
                        continue
                    if match := _HASH_AND_SIZE.fullmatch(rest):
                        yield f"{base}/{row.decode(errors='surrogateescape')}", _owned(record.owner, match)
                break


class _Record:
    """The rows of one RECORD: paths relative to ``base``, or absolute where they lead out of it (scripts).

    A CCCL wheel has 1,700 rows and a handful of them is asked for. To sort them whole, and search, is quicker than to
    take each apart.
    """

    def __init__(self, files: Files, distribution: Distribution, base: str, stem: bytes = b"") -> None:
        self.owner = f"{distribution.name} {distribution.version}"
        self.base = base
        self._files = files
        self._path = f"{distribution.path}/RECORD"
        self._stem = stem

    @cached_property
    def real_base(self) -> str:
        try:
            return self._files.real(self.base)
        except OSError:
            return self.base

    def rest_of(self, path: bytes) -> bytes | None:
        """The rest of a path's row (``sha256=…,1234``); ``None`` where RECORD does not list it or cannot be read."""
        start = self._written(path) + b","
        row = self._from(start)
        return row[len(start) :] if row.startswith(start) else None

    def lists_below(self, folder: bytes) -> bool:
        """Whether RECORD lists a file below a folder, which ends in a slash or is empty."""
        start = self._written(folder)
        return self._from(start).startswith(start)

    def _written(self, path: bytes) -> bytes:
        return (self._stem + path).replace(b",", _COMMA)

    def _from(self, start: bytes) -> bytes:
        """The first row in order that is not before ``start``; empty where there is none."""
        place = bisect_left(self._rows, start)
        return self._rows[place] if place < len(self._rows) else b""

    def rows(self) -> Iterator[tuple[bytes, bytes]]:
        """Every path with the rest of its row."""
        for row in self._rows:
            path, comma, rest = row.partition(b",")
            if comma and path.startswith(self._stem):
                yield path[len(self._stem) :].replace(_COMMA, b","), rest

    @cached_property
    def _rows(self) -> list[bytes]:
        try:
            text = self._files.read(self._path, _RECORD_LIMIT)
        except OSError:
            return []
        rows = sorted(_unquoted(text) if b'"' in text else text.splitlines())
        if rows and rows[0] < b"0" and not self._stem:  # "../" and "/" come before letters and digits
            base = self.base.encode(errors="surrogateescape")
            rows = sorted(_absolute(row, base) if row.startswith((b"../", b"/")) else row for row in rows)
        return rows


def _row_of(path: str, base: str) -> bytes | None:
    """How a RECORD of packages in ``base`` would write ``path``: relative, or absolute where it leads out to the rest
    of the same environment; ``None`` where it lies elsewhere."""
    if path.startswith(f"{base}/"):
        return path[len(base) + 1 :].encode(errors="surrogateescape")
    environment = posixpath.normpath(f"{base}/../../..").rstrip("/")
    return path.encode(errors="surrogateescape") if path.startswith(f"{environment}/") else None


def _absolute(row: bytes, base: bytes) -> bytes:
    """A row whose path leads out of the folder, with that path made absolute."""
    path, comma, rest = row.partition(b",")
    return posixpath.normpath(posixpath.join(base, path)).replace(b",", _COMMA) + comma + rest


def _owned(owner: str, hash_and_size: re.Match[bytes]) -> Owned:
    return Owned(owner, int(hash_and_size[1]) if hash_and_size[1] else None)


def _unquoted(text: bytes) -> list[bytes]:
    """The rows of a RECORD that has quotes, with a comma inside a path as ``_COMMA``."""
    import csv

    lines = text.decode("utf-8", "surrogateescape").splitlines()
    try:
        rows = [row for row in csv.reader(lines) if len(row) >= 3]
    except csv.Error:
        return []
    return [
        path.encode("utf-8", "surrogateescape").replace(b",", _COMMA) + f",,{size}".encode("utf-8", "surrogateescape")
        for path, _, size, *_ in rows
    ]


def _from_folder_name(entry: str) -> tuple[str, str] | None:
    name, dash, version = entry[: -len(".dist-info")].rpartition("-")
    if not dash or not name or name.startswith("~"):
        return None
    return normalised(name), version

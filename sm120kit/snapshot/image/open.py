"""Opens an archive of a container image: finds its layers, checks their digests, and lays them on one another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.snapshot.image.errors import ImageError
from sm120kit.snapshot.image.files import ImageFiles
from sm120kit.snapshot.image.layout import Described, Layer, compare_digest, describe, new_digest
from sm120kit.snapshot.image.sources import GZIP_MAGIC, ZSTD_MAGIC, FileSource, Gzip, Part, Source
from sm120kit.snapshot.image.tar import Forward, Skipping, entries
from sm120kit.snapshot.image.tree import Tree

MOST_STATES = 1024
"""Places in compressed layers, all together, at which reading can begin: 40 to 70 KiB of memory each."""
FREE_INFLATION = 4 << 30
"""Bytes that all layers together may be, however small the archive is."""
MOST_INFLATION = 20
"""How many times the archive's own size they may be beyond that; layers of programs are three times theirs."""


_LONGEST_REASON = 300


class Image(msgspec.Struct, frozen=True):
    """An image that can be read."""

    files: ImageFiles
    environment: dict[str, str]
    """What a process of it is started with: its own Env, and HOME as engines set it."""
    name: str
    """In words: name, layout and platform."""


class _Budget:
    """Bounds how many bytes all layers may be together, whatever a small archive says that it holds."""

    def __init__(self, archive_size: int) -> None:
        self._limit = max(FREE_INFLATION, MOST_INFLATION * archive_size)
        self._size = archive_size
        self._seen = 0

    def watch(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._seen += len(piece)
            if self._seen > self._limit:
                raise ImageError(
                    f"its {self._size} bytes hold more than {self._limit} bytes when they are inflated",
                    "Such an archive was made to exhaust whoever reads it",
                )
            yield piece


def open_image(path: str) -> Image:
    """Read the headers of all layers; for the same file a second time what was read the first time.

    Raises:
        Sm120kitError: there is no such file, or it is no image that can be read; exit code 4.
    """
    try:
        status = os.stat(path)
        return _open(path, (status.st_ino, status.st_size, status.st_mtime_ns))
    except ImageError as error:
        raise _unreadable(path, error.reason, error.hint) from error
    except OSError as error:
        hint = "Name the file that docker save or skopeo wrote."
        if error.filename is None:
            hint = "Its disk may fail, or the folder for temporary files be full."
        raise _unreadable(path, error.strerror or str(error), hint) from error


def _unreadable(path: str, reason: str, hint: str) -> Sm120kitError:
    if len(reason) > _LONGEST_REASON:  # it may hold a name of four thousand characters
        reason = f"{reason[:_LONGEST_REASON]} …"
    return Sm120kitError(f"the image archive {path} cannot be read: {reason}", hint=hint, exit_code=TARGET_UNREADABLE)


@lru_cache(1)
def _open(path: str, _state: tuple[int, int, int]) -> Image:
    """``_state`` is the file's, so that another one of that name is read anew."""
    file = FileSource(path)
    budget = _Budget(file.size)
    described = _describe(file, budget)
    tree = Tree()
    compressed = sum(layer.stored.at(0, 2) == GZIP_MAGIC for layer in described.layers)
    for layer in described.layers:
        _lay(tree, layer, MOST_STATES // max(1, compressed), budget)
    files = ImageFiles(path, tree)
    configuration = described.configuration
    platform = f"{configuration.system or 'linux'}/{configuration.architecture or 'unknown'}"
    config = configuration.config
    environment = _variables(config.environment or []) if config else {}
    environment.setdefault("HOME", _home(files, (config.user if config else "") or ""))
    return Image(files, environment, ", ".join(filter(None, (described.name, described.layout, platform))))


def _describe(file: FileSource, budget: _Budget) -> Described:
    """The image in an archive, or in what it holds where the whole of it was compressed."""
    whole = Part(file, 0, file.size)
    begin = whole.at(0, 4)
    if not begin:
        raise ImageError("it is empty")
    inflated: Source | None = None
    if begin.startswith(GZIP_MAGIC):
        inflated = Gzip(whole, MOST_STATES)
    elif begin == ZSTD_MAGIC:
        from sm120kit.snapshot.image.zstd import Zstd

        inflated = Zstd(whole)
    if inflated is None:
        return describe(whole, Skipping(whole))
    reader = Forward(budget.watch(inflated.pieces()))
    return describe(inflated, reader)


def _lay(tree: Tree, layer: Layer, most_states: int, budget: _Budget) -> None:
    try:
        stored, inflated = _digests(layer)
        source = _source(layer, most_states, stored.update if stored else lambda _: None)
        archive = Forward(_seen(budget.watch(source.pieces()), inflated.update))
        tree.lay(entries(archive), source)
        archive.finish()
        if stored:
            compare_digest(stored, layer.digest, "what is stored")
        compare_digest(inflated, layer.diff_id, "what it holds")
    except ImageError as error:
        raise ImageError(f"{layer.name}: {error.reason}", error.hint) from error


def _digests(layer: Layer) -> tuple[Any, Any]:
    """Hashes of the stored and of the inflated bytes; no first one where both are the same bytes and digests."""
    begin = layer.stored.at(0, 4)
    compressed = begin.startswith(GZIP_MAGIC) or begin == ZSTD_MAGIC
    if not compressed and layer.digest not in ("", layer.diff_id):
        raise ImageError(f"two digests are told of it that differ ({layer.digest[:80]}, {layer.diff_id[:80]})")
    stored = new_digest(layer.digest, "it") if compressed and layer.digest else None
    return stored, new_digest(layer.diff_id, "it")


def _source(layer: Layer, most_states: int, seen: Callable[[bytes], object]) -> Source:
    begin = layer.stored.at(0, 4)
    if begin.startswith(GZIP_MAGIC):
        return Gzip(layer.stored, most_states, seen)
    if begin == ZSTD_MAGIC:
        from sm120kit.snapshot.image.zstd import Zstd

        return Zstd(layer.stored, seen)
    return layer.stored


def _seen(pieces: Iterator[bytes], look: Callable[[bytes], object]) -> Iterator[bytes]:
    for piece in pieces:
        look(piece)
        yield piece


def _variables(lines: list[str]) -> dict[str, str]:
    pairs = (line.partition("=") for line in lines)
    return {name: value for name, equals, value in pairs if name and equals and "\0" not in value}


def _home(files: ImageFiles, user: str) -> str:
    """HOME as engines set it: by the image's own /etc/passwd, for root where no user is named."""
    wanted = user.partition(":")[0] or "0"
    try:
        lines = files.text("/etc/passwd", 1 << 20).splitlines()
    except OSError:
        lines = []
    for line in lines:
        fields = line.split(":")
        if len(fields) >= 6 and wanted in (fields[0], fields[2]):
            return fields[5] or "/"
    return "/root" if wanted in ("0", "root") else "/"

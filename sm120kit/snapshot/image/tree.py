"""The files of an image as a tree of names: its layers laid on one another, every link followed inside.

How layers are laid follows the OCI image specification (layer.md): a whiteout takes away what lower layers brought,
whatever its place among the files of its own layer.
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterable, Sequence

from sm120kit.snapshot.image.errors import ImageError
from sm120kit.snapshot.image.sources import Source
from sm120kit.snapshot.image.tar import Entry

MOST_ENTRIES = 1_000_000
"""Files, folders and links of all layers together; an image of SGLang has about 300,000."""
MOST_NAMES = 256 << 20
"""Characters of all their names and link texts together."""

MOST_STEPS = 100_000_000
"""Names that are looked up while all layers are laid; an image of SGLang takes about 3 million."""

_MOST_LINKS = 40
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_OF_AUFS = ".wh..wh."


class Node:
    """One file, folder, link or device. Two hard links are one node under two names."""

    __slots__ = ("children", "layer", "link", "mode", "modified", "offset", "size")

    def __init__(self, mode: int, size: int = 0, modified: float = 0.0, link: str = "") -> None:
        self.mode = mode
        self.size = size
        self.modified = modified
        self.link = link
        self.children = _NOTHING
        self.layer: Source | None = None
        self.offset = -1


_NOTHING: dict[str, Node] = {}
"""What a node holds that is no folder."""


class Tree:
    """Everything that the layers laid so far leave."""

    def __init__(self) -> None:
        self.root = _folder()
        self._entries = 0
        self._names = 0
        self._steps = 0

    def lay(self, found: Iterable[Entry], layer: Source) -> None:
        """Lay one layer on top; its bytes will be read from ``layer``.

        Raises:
            ImageError: it has an entry that no image may have, or there are too many.
        """
        kept: list[Entry] = []
        for entry in found:
            self._count(entry)
            parts = _inside(entry.name)
            if parts and parts[-1].startswith(_WHITEOUT):
                self._take_away(parts)
            elif parts:
                kept.append(entry)
        for entry in kept:
            self._put(_inside(entry.name), entry, layer)
            self._bound_steps()

    def find(self, path: str, *, follow_last: bool = True) -> tuple[Node, str]:
        """What a path leads to, and its place with every link resolved.

        Raises:
            OSError: as the system would.
        """
        node, above = self._walk(_parts_of(path), path, follow_last=follow_last)
        return node, "/" + "/".join(above)

    def _count(self, entry: Entry) -> None:
        self._entries += 1
        self._names += len(entry.name) + len(entry.link)
        if self._entries > MOST_ENTRIES or self._names > MOST_NAMES:
            raise ImageError(f"it holds more than {MOST_ENTRIES} files, or names of more than {MOST_NAMES} characters")
        self._bound_steps()

    def _bound_steps(self) -> None:
        if self._steps > MOST_STEPS:
            raise ImageError("its paths lead through too many links")

    def _take_away(self, parts: list[str]) -> None:
        """Carry out a whiteout. All that is in the tree while a layer is looked through came from lower ones."""
        name = parts[-1]
        try:
            folder, _ = self._walk(parts[:-1], "")
        except OSError:
            return  # there is nothing to take away
        if name == _OPAQUE:
            folder.children.clear()
        elif not name.startswith(_OF_AUFS):
            folder.children.pop(name[len(_WHITEOUT) :], None)

    def _put(self, parts: list[str], entry: Entry, layer: Source) -> None:
        try:
            folder, _ = self._walk(parts[:-1], entry.name, make=True)
        except OSError as error:
            raise ImageError(f"it puts {entry.name} where no folder can be ({error.strerror})") from error
        if not stat.S_ISDIR(folder.mode):
            raise ImageError(f"it puts {entry.name} below something that is no folder")
        there = folder.children.get(parts[-1])
        if stat.S_ISDIR(entry.mode) and there is not None and stat.S_ISDIR(there.mode):
            there.mode, there.modified = entry.mode, entry.modified
            return
        folder.children[parts[-1]] = self._made(entry, layer) if entry.mode else self._other_name(entry)

    def _made(self, entry: Entry, layer: Source) -> Node:
        if stat.S_ISDIR(entry.mode):
            return _folder(entry.mode, entry.modified)
        node = Node(entry.mode, entry.size, entry.modified)
        if stat.S_ISLNK(entry.mode):
            node.link = entry.link
        elif stat.S_ISREG(entry.mode):
            node.layer, node.offset = layer, entry.offset
        return node

    def _other_name(self, entry: Entry) -> Node:
        try:
            node, _ = self._walk(_inside(entry.link), entry.link, follow_last=False)
        except OSError as error:
            raise ImageError(f"it links {entry.name} to {entry.link}, which is not in it") from error
        if stat.S_ISDIR(node.mode):
            raise ImageError(f"it makes {entry.name} another name of the folder {entry.link}")
        return node

    def _walk(
        self, parts: Sequence[str], path: str, *, follow_last: bool = True, make: bool = False
    ) -> tuple[Node, list[str]]:
        """Go along ``parts``; ``make`` folders that are not there, behind links too, as engines do."""
        pending = list(reversed(parts))
        names: list[str] = []
        above = [self.root]
        links = 0
        while pending:
            self._steps += 1
            part = pending.pop()
            if part == "..":
                if names:
                    names.pop()
                    above.pop()
                continue
            folder = above[-1]
            if not stat.S_ISDIR(folder.mode):
                raise OSError(errno.ENOTDIR, "Not a directory", path)
            child = folder.children.get(part)
            if child is None:
                if not make:
                    raise OSError(errno.ENOENT, "No such file or directory", path)
                child = folder.children[part] = _folder()
            if stat.S_ISLNK(child.mode) and (follow_last or pending):
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, "too many symbolic links", path)
                if child.link.startswith("/"):
                    names.clear()
                    del above[1:]
                pending.extend(reversed(_parts_of(child.link)))
                continue
            names.append(part)
            above.append(child)
        return above[-1], names


def _folder(mode: int = stat.S_IFDIR | 0o755, modified: float = 0.0) -> Node:
    node = Node(mode, 0, modified)
    node.children = {}
    return node


def _inside(path: str) -> list[str]:
    """The parts of a path that stands in a layer: begun at its root, and never led out of it."""
    parts = _parts_of(path)
    if ".." in parts:
        raise ImageError(f"it holds the path {path}, which leads out of it")
    return parts


def _parts_of(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]

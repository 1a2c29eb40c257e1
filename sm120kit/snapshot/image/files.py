"""The files of an image that lies in an archive, by the same questions as those of an unpacked one."""

from __future__ import annotations

import errno
import stat
from collections.abc import Sequence

from sm120kit.snapshot.files import READ_LIMIT, Files
from sm120kit.snapshot.image.errors import ImageError
from sm120kit.snapshot.image.tree import Node, Tree


class ImageFiles(Files):
    """Reads files of one image. ``root`` is the archive's path."""

    def __init__(self, archive: str, tree: Tree) -> None:
        super().__init__()
        self.root = archive
        self._tree = tree

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        return self.pieces(path, [(0, limit)])[0]

    def pieces(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        node = self._node(path)
        if not stat.S_ISREG(node.mode) or node.layer is None:
            raise OSError(errno.EISDIR if stat.S_ISDIR(node.mode) else errno.EINVAL, "not a regular file", path)
        if node.offset < 0:
            raise OSError(errno.ENOTSUP, "a sparse file, which is not read out of an archive", path)
        try:
            return [_piece(node, offset, size) for offset, size in ranges]
        except ImageError as error:
            raise OSError(errno.EIO, error.reason, path) from error

    def names(self, path: str) -> list[str]:
        node = self._node(path)
        if not stat.S_ISDIR(node.mode):
            raise OSError(errno.ENOTDIR, "Not a directory", path)
        return sorted(node.children)

    def size(self, path: str) -> int:
        return self._node(path).size

    def mode(self, path: str) -> int:
        return self._node(path).mode

    def modified(self, path: str) -> float:
        return self._node(path).modified

    def link_modified(self, path: str) -> float:
        return self._node(path, follow_last=False).modified

    def real(self, path: str) -> str:
        return self._tree.find(path)[1]

    def link(self, path: str) -> str:
        node = self._node(path, follow_last=False)
        if not stat.S_ISLNK(node.mode):
            raise OSError(errno.EINVAL, "Invalid argument", path)
        return node.link

    def _node(self, path: str, *, follow_last: bool = True) -> Node:
        return self._tree.find(path, follow_last=follow_last)[0]


def _piece(node: Node, offset: int, size: int) -> bytes:
    if node.layer is None or offset >= node.size or size <= 0 or offset < 0:
        return b""
    return node.layer.at(node.offset + offset, min(size, node.size - offset))

"""Whatever bytes stand in the headers of a layer: they are read, or refused with a sentence."""

from __future__ import annotations

import contextlib
import tarfile

from hypothesis import given
from hypothesis import strategies as st

from sm120kit.snapshot.image.errors import ImageError
from sm120kit.snapshot.image.sources import Gzip, Part
from sm120kit.snapshot.image.tar import Forward, Skipping, entries
from sm120kit.snapshot.image.tree import Tree
from tests.image_archives import file, folder, gzipped, link, other_name, special, tar

LAYER = tar(
    folder("etc"),
    file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
    link("lib", "usr/lib"),
    file(f"lib/{'a' * 150}", "x" * 600),
    other_name("h", "etc/passwd"),
    special("dev/null", tarfile.CHRTYPE),
) + tar(file(f"{'b' * 200}/c", "x"), link("l", "y" * 200), form=tarfile.GNU_FORMAT)
HEADERS = [place for place in range(0, len(LAYER), 512) if LAYER[place + 257 : place + 262] == b"ustar"]
FIELDS = {"name": 0, "mode": 100, "size": 124, "mtime": 136, "type": 156, "link": 157, "prefix": 345, "sparse": 386}


class Bytes:
    """Bytes in memory in the place of an archive on disk."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def at(self, offset: int, size: int) -> bytes:
        return self.content[offset : offset + size] if offset >= 0 and size > 0 else b""


def part(content: bytes) -> Part:
    return Part(Bytes(content), 0, len(content))  # type: ignore[arg-type]


def spoil(header: int, field: int, content: bytes) -> bytes:
    """The layer with a field of one header replaced, and its checksum made right again."""
    block = bytearray(LAYER[header : header + 512])
    block[field : field + len(content)] = content
    block = block[:512]
    block[148:156] = b"%06o\0 " % (sum(block[:148]) + 8 * 32 + sum(block[156:]))
    return LAYER[:header] + bytes(block) + LAYER[header + 512 :]


NUMBERS = (b"\xff" * 12, b"\x80" + b"\xff" * 11, b"77777777777\0", b"-1\0", b"\x80" + bytes(10) + b"\5", b"1e5\0")
"""Base 256 (negative and huge), octal, and what is no number."""


@given(
    st.sampled_from(HEADERS),
    st.sampled_from(sorted(FIELDS)),
    st.sampled_from(NUMBERS) | st.binary(min_size=1, max_size=100),
)
def test_any_header(header: int, field: str, content: bytes) -> None:
    layer = spoil(header, FIELDS[field], content)
    for headers in (Forward(iter([layer])), Skipping(part(layer))):
        tree = Tree()
        with contextlib.suppress(ImageError):
            tree.lay(entries(headers), part(layer))
        for node in tree.root.children.values():
            assert node.size >= 0
            assert isinstance(node.modified, float)


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(1, 5000))
def test_any_place_behind_gzip(offset: int, cut: int, size: int) -> None:
    stored = gzipped(LAYER)
    source = Gzip(part(stored), 16)
    assert b"".join(source.pieces()) == LAYER
    assert source.at(offset, size) == LAYER[offset : offset + size]
    if cut < len(stored):
        try:
            list(Gzip(part(stored[:cut]), 16).pieces())
        except ImageError:
            return
        assert cut == 0

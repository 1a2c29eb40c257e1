"""The files of a target that was examined before, for whoever wants to see more of them."""

from __future__ import annotations

from sm120kit.snapshot.files import Files


def open_files(root: str, *, archive: bool = False) -> Files:
    """The files below ``root``: empty = this machine's, a folder = an unpacked image's, or the path of an ``archive``.

    Raises:
        Sm120kitError: the archive cannot be read.
    """
    if not archive:
        return Files(root)
    from sm120kit.snapshot.image.open import open_image

    return open_image(root).files

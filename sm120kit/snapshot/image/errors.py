"""Why an archive cannot be read."""

from __future__ import annotations


class ImageError(Exception):
    """One sentence about what is wrong with the archive, without its name."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint

"""Scripts named nvcc that hand over to another one: a shim in /usr/local/bin, Debian's /usr/bin/nvcc."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping

HEAD = 4096
"""Bytes of a file that tell a binary from a script, and a wrapper's target."""


def executed_by(head: bytes, environment: Mapping[str, str]) -> str:
    """The nvcc that a script starts, from its first bytes; empty for a binary and where the script does not tell.

    The last command that names an absolute path ending in ``/nvcc`` counts, ``exec`` or not, behind a launcher
    (``ccache``) or not; ``$NAME`` and ``${NAME}`` are the environment's.
    """
    if not head.startswith(b"#!"):
        return ""
    found = ""
    for line in head.decode("utf-8", "replace").splitlines()[1:]:
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue
        expanded = (_expand(word, environment) for word in words)
        found = next((word for word in expanded if _is_nvcc(word)), found)
    return found


def _is_nvcc(word: str) -> bool:
    return word.startswith("/") and posixpath.basename(word) == "nvcc"


def _expand(word: str, environment: Mapping[str, str]) -> str:
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda match: environment.get(match[1] or match[2], ""), word)

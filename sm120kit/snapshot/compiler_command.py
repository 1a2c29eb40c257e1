"""Compilers as environment variables name them: with arguments, behind ccache, or as a bare name."""

from __future__ import annotations

import shlex

LAUNCHERS = frozenset({"buildcache", "ccache", "distcc", "icecc", "sccache"})
"""Programs that are put before a compiler and start it."""


def words(command: str) -> tuple[str, ...]:
    """The shell words of a command; none where it is empty or its quotes do not close."""
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return ()


def compiler_of(command: str) -> str:
    """The compiler of a command such as ``ccache g++ -m64``: its first word that is no launcher; empty if none is."""
    return next((word for word in words(command) if word.rpartition("/")[2] not in LAUNCHERS), "")

"""Variables and how each one is brought into an environment, as plain data."""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "sm120kit.environment/1"


class Struct(msgspec.Struct, frozen=True):
    """Base of all environment data."""


How = Literal["set", "set-if-unset", "prepend", "remove"]


KEPT = "What the environment has already serves as well, and is kept."
"""End of the reason of a variable that would be set, had the target not something that will do."""


class Variable(Struct, frozen=True):
    """One variable.

    ``set`` and ``set-if-unset`` use ``value``; an empty variable counts as unset. ``prepend`` and ``remove`` are
    for lists of folders (names that end in PATH) and use ``parts``: these stand first, in their order and once, or
    are taken out wherever they stand.
    """

    name: str
    how: How
    reason: str
    """One or more sentences for the person who reads the script."""
    value: str = ""
    parts: tuple[str, ...] = ()
    otherwise: str = ""
    """For ``prepend``: what follows the parts where the variable is unset or empty."""


class Environment(Struct, frozen=True):
    """All variables for one target, in the order in which they are written."""

    target: str
    """Path of the interpreter, site-packages or root file system."""
    cuda_home: str
    """Empty where no toolkit with a compiler serves this target."""
    variables: tuple[Variable, ...]
    before: dict[str, str]
    """Of these variables, those that the target's own environment holds: systemd cannot look there at run time, so what
    it gets is computed from it."""


class DocumentLine(Struct, frozen=True):
    """One variable as data: ``value`` is what it is afterwards, computed from the target's own environment."""

    name: str
    value: str
    how: How
    parts: tuple[str, ...]
    reason: str


class Document(Struct, frozen=True):
    """``--shell json``."""

    schema: str
    target: str
    cuda_home: str
    variables: tuple[DocumentLine, ...]

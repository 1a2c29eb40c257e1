"""How a remedy is put into words: the same in every output."""

from __future__ import annotations

from typing import NamedTuple

from sm120kit.diagnosis.types import Remedy, Repair

REPAIR_COMMAND = "sm120kit fix"

REPAIR_EXPLAINED = "shows the plan of a repair; --apply carries it out, sm120kit undo takes it back"
"""Said once in a report that holds a repair."""


class Shown(NamedTuple):
    """A remedy as text for people, and commands to copy."""

    text: str
    commands: tuple[str, ...]


def shown(remedy: Remedy) -> Shown:
    """The words for one remedy."""
    if isinstance(remedy, Repair):
        consent = ", after asking" if remedy.needs_consent else ""
        return Shown(f"{remedy.text.rstrip('.')} ({REPAIR_COMMAND} does this{consent})", ())
    return Shown(remedy.text, remedy.commands)

"""How a remedy is put into words: the same in every output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sm120kit.diagnosis.types import Remedy, Repair

if TYPE_CHECKING:  # rich is not needed for what is no terminal's
    from sm120kit.report.lines import Lines

REPAIR_COMMAND = "sm120kit fix"

REPAIR_EXPLAINED = "shows the plan of a repair; --apply carries it out, sm120kit undo takes it back"
"""Said once in a report that holds a repair."""


class Again(NamedTuple):
    """Commands about the very target of a report."""

    repair: str = REPAIR_COMMAND
    """Empty: the target is a record or an image, in which nothing can be repaired from here."""
    examine: str = "sm120kit doctor -v"
    prove: str = "sm120kit prove"
    checks: str = ""
    """The options that name folders of own checks, with a space before each."""

    def repairing(self) -> tuple[str, str]:
        """The command that repairs, and what it does."""
        if self.repair:
            return self.repair, REPAIR_EXPLAINED
        return REPAIR_COMMAND, f"on the machine itself, or inside the image: {REPAIR_EXPLAINED}"


THIS_ENVIRONMENT = Again()
"""Commands about the environment that they are typed in."""


class Shown(NamedTuple):
    """A remedy as text for people, and commands to copy."""

    text: str
    commands: tuple[str, ...]


def shown(remedy: Remedy) -> Shown:
    """The words for one remedy."""
    if isinstance(remedy, Repair):
        way = " --in-place" if remedy.needs_consent else ""
        return Shown(f"{remedy.text.rstrip('.')} ({REPAIR_COMMAND}{way} does this)", ())
    return Shown(remedy.text, remedy.commands)


def write_remedies(lines: Lines, remedies: Sequence[Remedy], *, indent: int) -> None:
    """All ways out of one thing, after a blank line: the text of each, and its commands, which are never broken."""
    for number, remedy in enumerate(remedies):
        text, commands = shown(remedy)
        if number == 0:
            lines.blank()
        lines.prose(text, indent=indent, label="  fix" if number == 0 else "  or", label_style="green")
        for command in commands:
            lines.command(command, indent + 4)

"""Commands of pip for the target's own Python: the pip on PATH is seldom that of a target named by an option."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from msgspec.structs import replace

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.types import Finding, Manual
from sm120kit.snapshot.facts import Known

_PIP = "pip "


def for_target(commands: Iterable[str], case: Case) -> tuple[str, ...]:
    """``commands``, of which those that begin with ``pip`` name the target's interpreter, where that is known."""
    interpreter = case.snapshot.interpreter
    python = interpreter.value.executable if isinstance(interpreter, Known) else ""
    if not python:
        return tuple(commands)
    pip = f"{shlex.quote(python)} -m {_PIP}"
    return tuple(pip + each.removeprefix(_PIP) if each.startswith(_PIP) else each for each in commands)


def addressed(finding: Finding, case: Case) -> Finding:
    """``finding`` with the commands of its remedies made for the target."""
    remedies = tuple(
        replace(each, commands=for_target(each.commands, case)) if isinstance(each, Manual) else each
        for each in finding.remedies
    )
    return replace(finding, remedies=remedies)

"""What an environment is once the variables are in it: the same for a child process as for a sourced script."""

from __future__ import annotations

from collections.abc import Mapping

from sm120kit.environment.types import Environment, Variable


def applied(environment: Environment, base: Mapping[str, str]) -> dict[str, str]:
    """``base`` with every variable brought in. Doing it twice changes nothing the second time."""
    after = dict(base)
    for variable in environment.variables:
        value = _value(variable, after.get(variable.name, ""))
        if value or variable.how in ("set", "set-if-unset"):
            after[variable.name] = value
        else:
            after.pop(variable.name, None)
    return after


def _value(variable: Variable, current: str) -> str:
    if variable.how == "set":
        return variable.value
    if variable.how == "set-if-unset":
        return current or variable.value
    folders = current or (variable.otherwise if variable.how == "prepend" else "")
    others = [folder for folder in folders.split(":") if folder not in variable.parts] if folders else []
    return ":".join([*variable.parts, *others] if variable.how == "prepend" else others)

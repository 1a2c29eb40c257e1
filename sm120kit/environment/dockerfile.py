"""Values for the ENV lines of a Dockerfile: what an image sets itself is referred to, not what is set here."""

from __future__ import annotations

from collections.abc import Mapping

from sm120kit.environment.dialects import quote_docker, quote_inside_docker
from sm120kit.environment.types import Environment, Variable


def docker_values(environment: Environment, after: Mapping[str, str]) -> dict[str, str]:
    """What stands after ``ENV NAME=``, by name. Folders are put before the image's own, and a value that yields to one
    that is set yields to the image's. Only a list that folders are taken out of is whole, as in ``after``: a Dockerfile
    cannot take anything out.
    """
    by_name: dict[str, list[Variable]] = {}
    for variable in environment.variables:
        by_name.setdefault(variable.name, []).append(variable)
    values = {name: _of_the_image(name, variables) for name, variables in by_name.items()}
    return {name: value or quote_docker(name, after[name]) for name, value in values.items() if value or name in after}


def _of_the_image(name: str, variables: list[Variable]) -> str:
    """The value in the image's own variables; empty where it needs none of them, or cannot be said by them."""
    first = variables[0]
    if {each.how for each in variables} == {"prepend"}:
        parts = dict.fromkeys(part for each in reversed(variables) for part in each.parts)
        own = (
            f":${{{name}:-{quote_inside_docker(name, first.otherwise)}}}"
            if first.otherwise
            else f"${{{name}:+:${name}}}"
        )
        return f'"{":".join(quote_docker(name, part)[1:-1] for part in parts)}{own}"'
    if first.how == "set-if-unset":
        return f'"${{{name}:-{quote_inside_docker(name, first.value)}}}"'
    return ""

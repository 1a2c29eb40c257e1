"""Writes an environment in one dialect: the same input gives the same bytes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from sm120kit.data import data_dir
from sm120kit.environment.applying import applied
from sm120kit.environment.dialects import (
    check_folder,
    check_json,
    check_name,
    quote_docker,
    quote_fish,
    quote_sh,
    quote_systemd,
)
from sm120kit.environment.dockerfile import docker_values
from sm120kit.environment.types import SCHEMA, Document, DocumentLine, Environment, Variable
from sm120kit.text import visible
from sm120kit.version import __version__

if TYPE_CHECKING:
    from jinja2 import Template

Shell = Literal["sh", "fish", "systemd", "docker", "json"]
SHELLS: tuple[Shell, ...] = get_args(Shell)

_QUOTES: dict[str, Callable[[str, str], str]] = {
    "sh": quote_sh,
    "fish": quote_fish,
    "systemd": quote_systemd,
    "docker": quote_docker,
}
_COMMENT_WIDTH = 116


def render(environment: Environment, shell: Shell) -> str:
    """The environment as a script, an EnvironmentFile, ENV lines or JSON; it ends with a line break.

    sh and fish look at the shell's own values when they are sourced, and docker at the image's; the others get values
    computed from the target's environment. Bytes that are not UTF-8 are surrogate escapes: write it with
    ``os.fsencode``.

    Raises:
        Sm120kitError: this dialect cannot carry one of the values.
    """
    for variable in environment.variables:
        check_name(variable.name)
        for folder in variable.parts:
            check_folder(variable.name, folder)
    after = applied(environment, environment.before)
    if shell == "json":
        return _json(environment, after)
    quote = _QUOTES[shell]
    values: dict[str, str] = {}
    if shell == "docker":
        values = docker_values(environment, after)
    elif shell == "systemd":
        values = {name: quote(name, value) for name, value in after.items()}
    return _template(shell).render(
        comment=_comment,
        quote=quote,
        target=environment.target,
        variables=environment.variables,
        names=list(dict.fromkeys(each.name for each in environment.variables)),
        values=values,
        reasons=_reasons(environment.variables),
        version=__version__,
    )


def _json(environment: Environment, after: dict[str, str]) -> str:
    lines = tuple(
        DocumentLine(
            each.name,
            check_json(each.name, after.get(each.name, "")),
            each.how,
            tuple(check_json(each.name, part) for part in each.parts),
            visible(each.reason),
        )
        for each in environment.variables
    )
    document = Document(SCHEMA, visible(environment.target), environment.cuda_home, lines)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _reasons(variables: tuple[Variable, ...]) -> dict[str, str]:
    """One text per name: a list of folders may have something put before it and something taken out."""
    texts: dict[str, list[str]] = {}
    for variable in variables:
        texts.setdefault(variable.name, []).append(variable.reason)
    return {name: " ".join(reasons) for name, reasons in texts.items()}


def _comment(text: str) -> str:
    """``text`` as lines of comment that no dialect reads on into the next line: systemd would, after a backslash."""
    lines = textwrap.wrap(visible(text), _COMMENT_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join("# " + re.sub(r"\\$", r"\\ ", line) for line in lines)


def _template(shell: str) -> Template:
    import jinja2

    loader = jinja2.FileSystemLoader(data_dir("templates") / "env")
    return jinja2.Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    ).get_template(f"{shell}.j2")

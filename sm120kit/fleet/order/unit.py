"""A systemd unit that runs a launch as it was typed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from sm120kit.data import data_dir
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.types import Struct
from sm120kit.redaction import redacted
from sm120kit.text import visible
from sm120kit.version import __version__

_STOP_GRACE_S = 30
"""Beside what servers get to drain: for SIGKILL and for the GPUs to be free again."""

_ESCAPES = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "\r": r"\r"}


class Unit(Struct, frozen=True):
    """What the unit runs, and in what surroundings."""

    name: str
    """Of the fleet."""
    command: tuple[str, ...]
    """The program by its absolute path, and its arguments."""
    folder: str
    """Relative paths in the command are found from here."""
    user: str
    environment: dict[str, str]
    drain_s: float
    rehearsal: bool = False
    """It starts stand-ins."""


def render_unit(unit: Unit) -> str:
    """The unit as a file; the same input gives the same bytes.

    Raises:
        Sm120kitError: a word of the command holds a secret, or something that systemd cannot carry.
    """
    import jinja2

    refuse_secrets(unit.command[1:])
    template = jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_dir("templates") / "systemd"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    ).get_template("launch.service.j2")
    return template.render(
        name=unit.name,
        rehearsal=unit.rehearsal,
        version=__version__,
        comment=visible,
        specifiers=_specifiers,
        user=_plain("User=", unit.user),
        folder=_plain("WorkingDirectory=", unit.folder),
        environment=[_quoted(f"{name}={value}") for name, value in sorted(unit.environment.items())],
        command=" ".join([_program(unit.command[0]), *(_argument(word) for word in unit.command[1:])]),
        stop_seconds=math.ceil(unit.drain_s) + _STOP_GRACE_S,
    )


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a unit may show to everybody who can read it."""
    return {name: value for name, value in environment.items() if redacted(f"{name}={value}") == f"{name}={value}"}


def refuse_secrets(words: Sequence[str]) -> None:
    """Refuse a command that holds a secret: a unit is read by every user of the machine.

    Raises:
        Sm120kitError: it holds one; the value is not repeated.
    """
    line = ""
    for word in words:
        line = f"{line} {word}"[-_LOOKED_BACK:]
        if redacted(line) != line:
            flag = redacted(line).rpartition(" ")[0].rpartition(" ")[2] or "the command"
            raise Sm120kitError(
                f"the unit would show a secret to every user of this machine: what follows {flag}",
                hint="Keep it in a file that only the service can read, and name that: --api-key-file FILE",
            )


_LOOKED_BACK = 4096


def _program(path: str) -> str:
    """The first word: specifiers count in it, variables do not."""
    return _quoted(path)


def _argument(word: str) -> str:
    return _quoted(word).replace("$", "$$")


def _quoted(text: str) -> str:
    """``text`` between double quotes, as systemd.syntax(7) and systemd.service(5) read it."""
    _refuse_bytes("the unit", text)
    escaped = re.sub(r'[\\"\n\t\r]', lambda match: _ESCAPES[match[0]], text)
    escaped = re.sub(r"[\x01-\x1f\x7f]", lambda match: f"\\x{ord(match[0]):02x}", escaped)
    return f'"{_specifiers(escaped)}"'


def _plain(setting: str, text: str) -> str:
    """A value that systemd takes as the rest of the line: nothing is quoted or escaped in it."""
    _refuse_bytes(setting, text)
    if re.search(r"[\x00-\x1f\x7f]|\\$|^\s|\s$", text):
        raise Sm120kitError(
            f"{setting} of a unit cannot hold {text!r}", hint="Run this from a folder with a plain name, or link to it"
        )
    return _specifiers(text)


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")


def _refuse_bytes(where: str, text: str) -> None:
    if re.search("[\x00\ud800-\udfff]", text):
        raise Sm120kitError(
            f"{where} cannot hold {text!r}: systemd takes UTF-8 alone", hint="Give what it names another name"
        )

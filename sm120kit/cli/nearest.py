"""What was probably meant by a word of the command line that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import click

_ALIKE = 0.5


def nearest_command(name: str, commands: Sequence[str]) -> str:
    """A sentence with the commands that are spelled like ``name``, else with all of them."""
    return _did_you_mean(name, commands).rstrip() or f"The commands are {', '.join(commands)}"


def nearest_option(name: str, parameters: Iterable[click.Parameter]) -> str:
    """A sentence with the options of a command that are spelled like ``name``; empty where there is none."""
    known = [option for parameter in parameters for option in parameter.opts if option.startswith("-")]
    return _did_you_mean(name, known)


def nearest_choice(arguments: Iterable[str], choices: Sequence[str]) -> str:
    """A sentence with the choices that a word of the command line, ``--option=word`` too, is spelled like."""
    words = [argument.rpartition("=")[2] for argument in arguments]
    said = (_did_you_mean(word, choices) for word in words if word not in choices)
    return next(filter(None, said), "")


def _did_you_mean(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=2, cutoff=_ALIKE)
    return f"Did you mean {' or '.join(near)}? " if near else ""

"""What a command says beside its result: on standard error, in words, as wide as the terminal there."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from sm120kit.cli.output import PIPED_WIDTH
from sm120kit.text import visible

_COMMAND_AT_END = re.compile(r"(.*:) (sm120kit .*)")


def say(message: str, hint: str = "", listed: Sequence[str] = ()) -> None:
    """A message for people, with what to do about it; ``listed`` are names that the hint ends with.

    The text may hold names of files, and those may hold anything. On a terminal lines are wrapped, elsewhere message
    and hint are one line each, for those who search them; names are always wrapped.
    """
    width = _terminal_width()
    with suppress(OSError):  # the exit code tells it too, where nothing can be said
        for line in _lines(f"sm120kit: {visible(message)}", width, "", "  "):
            click.echo(line, err=True)
        for line in _hint(visible(hint), width):
            click.echo(line, err=True)
        for line in _lines(", ".join(map(visible, listed)), width or PIPED_WIDTH, "    ", "    "):
            click.echo(line, err=True)


def _hint(text: str, width: int) -> list[str]:
    command = _COMMAND_AT_END.fullmatch(text) if len(text) + 2 > width > 0 else None
    if command:  # never broken: it is there to be copied
        return [*_lines(command[1], width, "  ", "  "), f"    {command[2]}"]
    return _lines(text, width, "  ", "  ")


def _lines(text: str, width: int, first: str, others: str) -> list[str]:
    if not text or not width:
        return [first + text] if text else []
    from textwrap import wrap

    return wrap(
        text,
        max(width, 40),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _terminal_width() -> int:
    """Columns of the terminal on standard error; 0 = it is none."""
    with suppress(OSError, ValueError):
        if sys.stderr.isatty():
            return os.get_terminal_size(sys.stderr.fileno()).columns
    return 0

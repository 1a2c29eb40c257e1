"""Options that take a text: left out they are empty, and given they must not be."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from sm120kit.cli.options import option
from sm120kit.errors import Sm120kitError

Function = TypeVar("Function", bound=Callable[..., Any])


def text_option(*names: str, **settings: Any) -> Callable[[Function], Function]:
    """Like :func:`option`. An empty text is refused: it comes from a variable that is not set, and would pass for an
    option that was left out."""
    return option(*names, default=None, callback=filled, **settings)


def output_option(help: str) -> Callable[[Function], Function]:  # noqa: A002 - click's word
    """``-o FILE``. That its folder is not there is said before anything is examined."""
    return option("-o", "--output", metavar="FILE", default=None, callback=_in_a_folder, help=help)


def _in_a_folder(context: click.Context, parameter: click.Parameter, text: str | None) -> str:
    path = filled(context, parameter, text)
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise Sm120kitError(
            f"{path} cannot be written: there is no folder {folder}", hint="Make it, or name another file with -o"
        )
    return path


def filled(_context: click.Context, parameter: click.Parameter, text: str | None) -> str:
    """The text given; empty where none was.

    Raises:
        Sm120kitError: it was given, and is empty; exit code 2.
    """
    if text is None:
        return ""
    if not text.strip():
        name = parameter.opts[0] if isinstance(parameter, click.Option) else str(parameter.metavar).strip("[]")
        raise Sm120kitError(
            f"{name} was given an empty text", hint="Is the variable that should hold it set? Else leave it out"
        )
    return text

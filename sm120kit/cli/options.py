"""How commands and options are declared: click's, with their help taken as it is written.

click cleans each help as if it were a docstring, with ``inspect``, and looks up translations of its own texts, with
``gettext`` and ``locale``. For help of one line, in one language, the modules that this loads cost a start six
milliseconds. The pages that ``--help`` prints are still click's own work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


class Option(click.Option):
    """An option whose help is one line."""

    def __init__(self, *names: Any, **settings: Any) -> None:
        line = settings.pop("help", None)
        super().__init__(*names, **settings)
        self.help = line


def ending_flag(*names: str, help: str, says: Callable[[click.Context], str]) -> Option:  # noqa: A002 - click's word
    """A flag that prints something in place of what the command does."""

    def say(context: click.Context, _parameter: click.Parameter, given: bool) -> None:
        if given and not context.resilient_parsing:
            click.echo(says(context), color=context.color)
            context.exit()

    return Option(names, is_flag=True, is_eager=True, expose_value=False, callback=say, help=help)


HELP = ending_flag("-h", "--help", help="Show this message and exit.", says=click.Context.get_help)


class Command(click.Command):
    """A command with ``-h`` and ``--help``, its last option."""

    def __init__(self, name: str | None, *, params: Sequence[click.Parameter] | None = None, **settings: Any) -> None:
        super().__init__(name, params=[*(params or ()), HELP], add_help_option=False, **settings)


def subcommand(**settings: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Like :func:`click.command`."""
    return click.command(cls=Command, **settings)


def option(*names: str, **settings: Any) -> Callable[[Function], Function]:
    """Like :func:`click.option`."""
    return click.option(*names, cls=Option, **settings)

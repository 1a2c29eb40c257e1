"""What a launch is asked for on the command line: an option for each row of the table in ``fleet.order.options``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sm120kit.cli.target_options import complete_gpu
from sm120kit.cli.text_option import filled, text_option
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.options import OPTIONS, Option
from sm120kit.fleet.order.order import Order

if TYPE_CHECKING:
    from sm120kit.fleet.order.fleet_file import FleetFile

Function = TypeVar("Function", bound=Callable[..., Any])

_TYPES = {"count": click.INT, "seconds": click.FLOAT, "gib": click.FLOAT}


def order_options(function: Function) -> Function:
    """Add them, ``--config`` and the words ``MODEL [-- SGLANG ARGS]`` to a command; it gets them all as one argument
    ``order`` of type :class:`Order`.

    Raises:
        Sm120kitError: the options or the file say something that no launch can mean.
    """

    @wraps(function)
    def with_order(*, words: Sequence[str], config: str, **parameters: Any) -> Any:
        given = {option.parameter: parameters.pop(option.parameter) for option in OPTIONS if option.flag}
        file = _file(config)
        try:
            return function(order=_order(words, file, given), **parameters)
        except Sm120kitError as error:
            raise _placed(error, file, words, given) from error

    decorated: Any = with_order
    for option in reversed([each for each in OPTIONS if each.flag]):
        decorated = _click_option(option)(decorated)
    decorated = text_option("--config", metavar="FILE", help="Take what is not given here from this fleet.toml.")(
        decorated
    )
    result: Function = click.argument("words", metavar="[MODEL] [-- SGLANG ARGS]", nargs=-1, type=click.UNPROCESSED)(
        decorated
    )
    return result


def _click_option(option: Option) -> Callable[[Function], Function]:
    shown = option.help + _default(option)
    match option.kind:
        case "switch":
            return click.option(option.flag, option.parameter, is_flag=True, default=None, help=shown)
        case "choice":
            return click.option(
                option.flag, option.parameter, type=click.Choice(option.choices), default=None, help=shown
            )
        case "texts" | "variables":
            return click.option(
                option.flag,
                option.parameter,
                metavar=option.metavar,
                multiple=True,
                callback=_all_filled,
                shell_complete=_COMPLETE.get(option.flag),
                help=shown,
            )
        case "count" | "seconds" | "gib":
            return click.option(
                option.flag,
                option.parameter,
                metavar=option.metavar,
                type=_TYPES[option.kind],
                default=None,
                help=shown,
            )
        case _:
            return text_option(
                option.flag,
                option.parameter,
                metavar=option.metavar,
                shell_complete=_COMPLETE.get(option.flag),
                help=shown,
            )


def _default(option: Option) -> str:
    if option.kind not in ("count", "seconds", "choice") or not option.default:
        return ""
    value = option.default
    return f"  [default: {value:g}]" if isinstance(value, float) else f"  [default: {value}]"


def _file(config: str) -> FleetFile | None:
    from sm120kit.fleet.order.fleet_file import read_fleet_file

    return read_fleet_file(config) if config else None


def _placed(error: Sm120kitError, file: FleetFile | None, words: Sequence[str], given: dict[str, Any]) -> Sm120kitError:
    """With the place in the file, where what is refused stands there."""
    if file is None:
        return error
    from sm120kit.fleet.order.placed import placed

    options = [option.flag for option in OPTIONS if given.get(option.parameter) not in ("", None, ())]
    return placed(error, file, {*options, *(word.partition("=")[0] for word in words)})


def _order(words: Sequence[str], file: FleetFile | None, given: dict[str, Any]) -> Order:
    from sm120kit.fleet.order.make_order import make_order

    model, arguments = (words[0], words[1:]) if words and not words[0].startswith("-") else ("", words)
    typed = {name: value for name, value in {"model": model, **given}.items() if value not in ("", None, ())}
    return make_order(typed, arguments, file)


def _all_filled(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(filled(context, parameter, text) for text in texts)


def _complete_fault(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from sm120kit.fleet.rehearsal.faults import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]


_COMPLETE = {"--gpu": complete_gpu, "--fault": _complete_fault}

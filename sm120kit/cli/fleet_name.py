"""The fleet that a command is about: the one named, else the only one there is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from sm120kit.cli.text_option import filled
from sm120kit.errors import Sm120kitError

if TYPE_CHECKING:
    from sm120kit.fleet.types import Fleet, Replica

Function = TypeVar("Function", bound=Callable[..., object])


def complete_fleet(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of the fleets of this machine."""
    from sm120kit.fleet.state import names

    return [name for name in names() if name.startswith(incomplete)]


def fleet_argument(function: Function) -> Function:
    """``NAME``; the command gets it as ``name``, empty where it was left out."""
    return click.argument(
        "name", metavar="[NAME]", required=False, default=None, callback=filled, shell_complete=complete_fleet
    )(function)


def replicas_chosen(does: str) -> Callable[[Function], Function]:
    """``[N...]`` after the name, which the command gets as ``numbers``, and ``--replica N``, as ``replicas``; ``does``
    begins the help of the latter."""

    def decorate(function: Function) -> Function:
        option = click.option(
            "--replica",
            "replicas",
            metavar="N",
            type=click.IntRange(min=0),
            multiple=True,
            help=f"{does}; the same as a number after NAME. Again and again for several.",
        )(function)
        return click.argument("numbers", metavar="[N...]", nargs=-1, type=click.IntRange(min=0))(option)

    return decorate


def say_unreadable(error: Sm120kitError) -> None:
    """That a fleet is left out, since its state cannot be read."""
    from sm120kit.cli.live_table import say
    from sm120kit.text import visible

    say(visible(f"sm120kit: {error.message}"))
    say(visible(f"  {error.hint}"))


def chosen_fleet(name: str) -> Fleet:
    """The fleet of that name; without a name the only one that runs, else the only one that left a state.

    Raises:
        Sm120kitError: there is none of that name, none at all, or more than one to choose from; exit code 2.
    """
    from sm120kit.fleet.forgetting import is_recent
    from sm120kit.fleet.supervising import list_fleets, read_fleet

    if name:
        fleet = read_fleet(name)
        if fleet is None:
            known = [fleet for fleet in list_fleets() if is_recent(fleet, time.time())]
            number = f". For replica {name} of one give its name too: NAME {name}" if name.isdigit() and known else ""
            raise Sm120kitError(f"there is no fleet {name!r}", hint=_known(known) + number)
        return fleet
    fleets = list_fleets(say_unreadable)
    running = [fleet for fleet in fleets if not fleet.ended]
    candidates = running or [fleet for fleet in fleets if is_recent(fleet, time.time())] or list(fleets)
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise Sm120kitError("there is no fleet", hint="Start one with sm120kit launch, or rehearse: --rehearse")
    raise Sm120kitError(f"there are {len(candidates)} fleets, and none was named", hint=_known(candidates))


def chosen_replica(fleet: Fleet, index: int | None) -> Replica:
    """The replica of that number; without a number the only one.

    Raises:
        Sm120kitError: there is none of that number, or more than one to choose from; exit code 2.
    """
    numbers = [replica.index for replica in fleet.replicas]
    if index is None and len(numbers) == 1:
        return fleet.replicas[0]
    if index is None:
        raise Sm120kitError(
            f"{fleet.name} has {len(numbers)} replicas, and none was named",
            hint=f"Name one of {numbers[0]} to {numbers[-1]} after its name, as in: {fleet.name} {numbers[0]}",
        )
    found = next((replica for replica in fleet.replicas if replica.index == index), None)
    if found is None:
        raise Sm120kitError(
            f"{fleet.name} has no replica {index}", hint=f"Its replicas are {', '.join(map(str, numbers))}"
        )
    return found


def _known(fleets: Sequence[Fleet]) -> str:
    if not fleets:
        return "There is no fleet; sm120kit launch starts one"
    told = "The only fleet is " if len(fleets) == 1 else "The fleets are "
    return told + ", ".join(fleet.name + (" (ended)" if fleet.ended else "") for fleet in fleets)

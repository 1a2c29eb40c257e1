"""``sm120kit fleets``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from sm120kit.cli.fleet_name import complete_fleet, say_unreadable
from sm120kit.cli.output import terminal, write_result
from sm120kit.errors import GOOD, Sm120kitError

if TYPE_CHECKING:
    from sm120kit.fleet.types import Leftover

EPILOG = """\b
Examples:
  sm120kit fleets                     those that run, and those that ended within a day
  sm120kit fleets --all               all that left a state
  sm120kit fleets --forget qwen       remove the state and the logs of one that has ended
  sm120kit fleets --forget-ended      of all that have ended

Exit codes: 0 good, 2 there is no such fleet, or it runs, 3 a fault of sm120kit itself, 4 something cannot be removed.
"""


@click.command(epilog=EPILOG)
@click.option("-a", "--all", "every", is_flag=True, help="Also those that ended more than a day ago.")
@click.option(
    "--forget",
    "forgotten",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_fleet,
    help="Remove state and logs of this ended fleet; again and again for several.",
)
@click.option("--forget-ended", "forget_ended", is_flag=True, help="Remove state and logs of all that have ended.")
@click.option("--json", "as_json", is_flag=True, help="Print the data alone: a list of sm120kit.fleet/1.")
def command(*, every: bool, forgotten: Sequence[str], forget_ended: bool, as_json: bool) -> int:
    """List the fleets of this machine: those that run, and what the last launch of each name left."""
    from sm120kit.fleet.forgetting import is_recent
    from sm120kit.fleet.supervising import list_fleets

    if forgotten or forget_ended:
        return _forget(forgotten, ended=forget_ended)
    fleets = list_fleets(say_unreadable)
    now = time.time()
    shown = fleets if every else tuple(fleet for fleet in fleets if is_recent(fleet, now))
    if as_json:
        from sm120kit.text import encode_json

        write_result(encode_json(shown))
        return GOOD
    from sm120kit.report.fleets import render_fleets

    width, colour = terminal()
    write_result(render_fleets(shown, now, left_out=len(fleets) - len(shown), width=width, colour=colour))
    return GOOD


def _forget(forgotten: Sequence[str], *, ended: bool) -> int:
    from sm120kit.fleet.forgetting import forget
    from sm120kit.fleet.supervising import list_fleets

    if forgotten and ended:
        raise Sm120kitError("--forget and --forget-ended contradict each other", hint="Give one of the two")
    names = [fleet.name for fleet in list_fleets(say_unreadable) if fleet.ended] if ended else dict.fromkeys(forgotten)
    for name in names:
        forget(name, _say_what)
    if not names:
        write_result("No fleet has ended: there is nothing to forget.\n")
    return GOOD


def _say_what(left: Leftover) -> None:
    from sm120kit.report.fleets import leftover
    from sm120kit.text import visible

    write_result(visible(leftover(left)) + "\n")

"""``sm120kit stop``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from sm120kit.cli.fleet_name import chosen_fleet, fleet_argument, say_unreadable
from sm120kit.cli.output import terminal, write_result
from sm120kit.errors import FINDINGS, GOOD, Sm120kitError

if TYPE_CHECKING:
    from sm120kit.fleet.types import Fleet

EPILOG = """\b
Examples:
  sm120kit stop          the only fleet that runs
  sm120kit stop qwen
  sm120kit stop --all

Exit codes: 0 nothing of it runs, 1 something is left, 2 there is no such fleet, 3 a fault of sm120kit itself,
4 its state cannot be read, 130 interrupted.
"""


@click.command(epilog=EPILOG)
@fleet_argument
@click.option("--all", "every", is_flag=True, help="Stop every fleet of this machine.")
@click.option("--json", "as_json", is_flag=True, help="Print the data alone: a list of sm120kit.fleet/1.")
def command(*, name: str, every: bool, as_json: bool) -> int:
    """End a fleet: its servers get SIGTERM and time to drain, what is left is killed, and GPU memory is looked at."""
    from sm120kit.fleet.supervising import list_fleets

    if every and name:
        raise Sm120kitError(f"--all and {name} contradict each other", hint="Give one of the two")
    wanted = [fleet for fleet in list_fleets(say_unreadable) if not fleet.ended] if every else [chosen_fleet(name)]
    already = [fleet.name for fleet in wanted if fleet.ended]
    ended = [_stopped(fleet) for fleet in wanted]
    if as_json:
        from sm120kit.text import encode_json

        write_result(encode_json(ended))
    else:
        from sm120kit.report.fleet_end import render_end

        width, colour = terminal()
        write_result(render_end(ended, time.time(), already=already, width=width, colour=colour))
    return GOOD if all(fleet.ended for fleet in ended) else FINDINGS


def _stopped(fleet: Fleet) -> Fleet:
    from sm120kit.fleet.state import folder_of
    from sm120kit.fleet.supervising import stop

    return stop(folder_of(fleet.name), fleet.drain_s) or fleet

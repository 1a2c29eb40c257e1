"""``sm120kit fleets``."""

from __future__ import annotations

import time

import click

from sm120kit.cli.fleet_name import say_unreadable
from sm120kit.cli.output import terminal, write_result
from sm120kit.errors import GOOD


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the data alone: a list of sm120kit.fleet/1.")
def command(*, as_json: bool) -> int:
    """List the fleets of this machine: those that run, and what the last launch of each name left."""
    from sm120kit.fleet.supervising import list_fleets

    fleets = list_fleets(say_unreadable)
    if as_json:
        from sm120kit.text import encode_json

        write_result(encode_json(fleets))
        return GOOD
    from sm120kit.report.fleets import render_fleets

    width, colour = terminal()
    write_result(render_fleets(fleets, time.time(), width=width, colour=colour))
    return GOOD

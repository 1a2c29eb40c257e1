"""``sm120kit status``."""

from __future__ import annotations

import time

import click

from sm120kit.cli.fleet_name import chosen_fleet, fleet_argument
from sm120kit.cli.output import encoding_of, terminal, write_result
from sm120kit.errors import FINDINGS, GOOD

EPILOG = """\b
Examples:
  sm120kit status              the only fleet there is
  sm120kit status qwen -v      each verdict with its evidence
  sm120kit status qwen --json

Exit codes: 0 every replica is verified, 1 not, 2 there is no such fleet, 3 a fault of sm120kit itself,
4 its state cannot be read.
"""


@click.command(epilog=EPILOG)
@fleet_argument
@click.option("--json", "as_json", is_flag=True, help="Print the data (sm120kit.fleet/1) alone.")
@click.option("-v", "--verbose", is_flag=True, help="Show every verdict with its evidence.")
def command(*, name: str, as_json: bool, verbose: bool) -> int:
    """Say how a fleet stands: which servers run, what was verified, what ended and why."""
    fleet = chosen_fleet(name)
    if as_json:
        from sm120kit.text import encode_json

        write_result(encode_json(fleet))
    else:
        from sm120kit.report.fleet import render_status

        width, colour = terminal()
        write_result(
            render_status(fleet, time.time(), width=width, colour=colour, verbose=verbose, encoding=encoding_of())
        )
    return GOOD if fleet.verified and not fleet.ended else FINDINGS

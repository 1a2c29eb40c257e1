"""``sm120kit verify``."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from sm120kit.cli.fleet_name import chosen_fleet, complete_fleet
from sm120kit.cli.output import encoding_of, terminal, write_result
from sm120kit.cli.text_option import text_option
from sm120kit.errors import FINDINGS, GOOD, Sm120kitError
from sm120kit.fleet.types import LEVELS

if TYPE_CHECKING:
    from sm120kit.fleet.spec import Thinking
    from sm120kit.fleet.types import Fleet, Level

EPILOG = """\b
Examples:
  sm120kit verify                               the only fleet that runs
  sm120kit verify qwen --level quick
  sm120kit verify http://127.0.0.1:30000 http://127.0.0.1:30001
      servers that somebody else started; they are compared with each other

Exit codes: 0 every server is verified at that level, 1 not, 2 wrong usage, 3 a fault of sm120kit itself,
4 the fleet's state cannot be read, 130 interrupted.
"""


@click.command(epilog=EPILOG)
@click.argument("words", metavar="[NAME | URL...]", nargs=-1, shell_complete=complete_fleet)
@click.option("--level", type=click.Choice(LEVELS), default="load", show_default=True, help="How far.")
@click.option(
    "--thinking",
    type=click.Choice(("auto", "on", "off")),
    default="auto",
    show_default=True,
    help="Whether answers must show that the model thinks first.",
)
@text_option("--api-key-variable", metavar="NAME", help="The variable that holds the servers' API key.")
@click.option("--json", "as_json", is_flag=True, help="Print the data (sm120kit.fleet/1) alone.")
@click.option("-v", "--verbose", is_flag=True, help="Show every verdict with its evidence.")  # fmt: skip
def command(
    *, words: Sequence[str], level: Level, thinking: Thinking, api_key_variable: str, as_json: bool, verbose: bool
) -> int:
    """Verify servers that run, without owning them: what they answer, what they granted, what they do under load.

    At level load every request that the servers granted is sent at once, beside whatever else they serve.
    """
    from sm120kit.fleet.looking_in import of_urls, verified_again

    key = _api_key(api_key_variable)
    fleet = of_urls(words, level) if any(":" in word for word in words) else _named(words)
    judged = verified_again(fleet, level=level, thinking=thinking, api_key=key)
    write_result(_rendered(judged, as_json=as_json, verbose=verbose))
    return GOOD if judged.verified else FINDINGS


def _named(words: Sequence[str]) -> Fleet:
    if len(words) > 1:
        if all(word.isdigit() for word in words[1:]):
            raise Sm120kitError(
                "a fleet is verified as a whole: its replicas are compared with each other",
                hint=f"Leave {' '.join(words[1:])} out, or name the replica's URL, as sm120kit status tells its port",
            )
        raise Sm120kitError(
            f"{len(words)} fleets were named, and one is verified at a time", hint="Name one of them, or URLs"
        )
    fleet = chosen_fleet(words[0] if words else "")
    if fleet.ended:
        raise Sm120kitError(f"{fleet.name} has ended: nothing of it runs", hint="Start it with sm120kit launch")
    return fleet


def _api_key(variable: str) -> str:
    if not variable:
        return ""
    key = os.environ.get(variable, "")
    if not key:
        raise Sm120kitError(
            f"the variable {variable} holds no API key",
            hint="Is it set and exported? Else leave --api-key-variable out",
        )
    return key


def _rendered(fleet: Fleet, *, as_json: bool, verbose: bool) -> str | bytes:
    if as_json:
        from sm120kit.text import encode_json

        return encode_json(fleet)
    from sm120kit.report.fleet import render_summary

    width, colour = terminal()
    return render_summary(fleet, time.time(), width=width, colour=colour, verbose=verbose, encoding=encoding_of())

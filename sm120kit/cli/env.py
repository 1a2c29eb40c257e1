"""``sm120kit env``."""

from __future__ import annotations

import os
from contextlib import suppress

import click

from sm120kit.cli.again import TARGET, typed_again
from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import write_result
from sm120kit.cli.saying import say
from sm120kit.cli.target_environment import data_dir_option, healthy_target, without_repair
from sm120kit.cli.target_options import Asked, target_options
from sm120kit.cli.text_option import output_option
from sm120kit.data_dir import open_data_dir
from sm120kit.environment import SHELLS, Shell, render
from sm120kit.errors import GOOD, Sm120kitError
from sm120kit.repair.journal import cut_off
from sm120kit.repair.lock import holder

EPILOG = """\b
Examples:
  eval "$(sm120kit env)"                                  in this shell
  sm120kit env --shell fish | source                      in this fish
  sm120kit env --shell systemd -o /etc/sglang.env         for EnvironmentFile= of a unit
  sm120kit env --shell docker --gpu rtx-pro-6000          lines for a Dockerfile
"""


@subcommand(epilog=EPILOG)
@target_options(takes_snapshot=False)
@option(
    "--shell", type=click.Choice(SHELLS), default="sh", show_default=True, help="Whom to write it for; sh suits bash."
)
@data_dir_option
@output_option("Write it to this file; else to standard output.")
def command(*, target: Asked, shell: Shell, data_dir: str, output: str) -> int:
    """Write the variables that a healthy run of the target needs, each with its reason.

    In sh and fish, sourcing it twice adds nothing, and sm120kit_restore brings the old environment back.
    """
    healthy = healthy_target(target, data_dir)
    write_result(os.fsencode(render(healthy.environment, shell)), output)
    folder = open_data_dir(data_dir)
    with suppress(Sm120kitError, OSError):  # a journal that cannot be read keeps nobody from the variables
        for sentence in cut_off(folder, holder(folder)):
            say(sentence)
    if unrepaired := without_repair(healthy):
        hint = "" if target.options.of_image else f"What a repair would do: sm120kit fix{typed_again(TARGET)}"
        say(unrepaired, hint)
    return GOOD

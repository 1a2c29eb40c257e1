"""``sm120kit env``."""

from __future__ import annotations

import os

import click

from sm120kit.cli.again import TARGET, typed_again
from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import write_result
from sm120kit.cli.saying import say
from sm120kit.cli.target_environment import data_dir_option, healthy_target
from sm120kit.cli.target_options import Asked, target_options
from sm120kit.cli.text_option import output_option
from sm120kit.environment import SHELLS, Shell, render
from sm120kit.environment.reading import Healthy
from sm120kit.errors import GOOD
from sm120kit.snapshot.facts import Known, Unknown

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
    if unrepaired := _without_repair(healthy):
        hint = "" if target.options.of_image else f"What a repair would do: sm120kit fix{typed_again(TARGET)}"
        say(unrepaired, hint)
    return GOOD


def _without_repair(healthy: Healthy) -> str:
    """That no repair is in these variables, and what is there in its place; empty where one is."""
    snapshot, home = healthy.case.snapshot, healthy.environment.cuda_home
    live = snapshot.live_view
    if isinstance(live, Known) and home == live.value.current:
        return ""
    taken = (
        f"these variables lead to {home}, as it is"
        if home
        else "these variables name no CUDA toolkit, since none with an nvcc was found"
    )
    if isinstance(live, Unknown):
        return f"no repair is in place for {snapshot.target.path}: {taken}"
    why = "files that it leads to are gone" if live.value.gone else f"it was not made from {snapshot.target.cuda_home}"
    return f"the repair of {snapshot.target.path} is not used, since {why}: {taken}"

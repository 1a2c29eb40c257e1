"""``sm120kit run``."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

import click

from sm120kit.cli.options import subcommand
from sm120kit.cli.saying import say
from sm120kit.cli.target_environment import data_dir_option, healthy_target, without_repair
from sm120kit.cli.target_options import Asked, target_options
from sm120kit.environment import applied
from sm120kit.errors import Sm120kitError

NOT_FOUND = 127
NOT_EXECUTABLE = 126

EPILOG = """\b
Examples:
  sm120kit run -- python -m sglang.launch_server --model-path /models/m
  sm120kit run --python /srv/venv/bin/python -- nvcc --version

\b
The exit code is the command's own; 127 if there is no such command, 126 if it
cannot be executed.
"""


@subcommand(epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@target_options(takes_snapshot=False, takes_image=False)
@data_dir_option
@click.argument("arguments", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(*, target: Asked, data_dir: str, arguments: Sequence[str]) -> int:
    """Run a command with the variables that a healthy run of the target needs.

    They are brought into the environment that you stand in, as by sourcing what `sm120kit env` prints.
    """
    if target.options.of_image:
        option = "--root" if target.options.root else "--image-archive"
        raise Sm120kitError(
            f"{option} does not go with this command: nothing is executed inside an image",
            hint=f"Write the variables down for it: sm120kit env {option} … --shell docker",
        )
    healthy = healthy_target(target, data_dir)
    environment = applied(healthy.environment, os.environ)
    if sys.stderr.isatty() and (unrepaired := without_repair(healthy)):
        say(unrepaired)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(arguments[0], list(arguments), environment)
    except (OSError, ValueError) as error:
        raise _cannot(arguments[0], error) from error


def _cannot(program: str, error: OSError | ValueError) -> Sm120kitError:
    missing = isinstance(error, OSError) and error.errno in (errno.ENOENT, errno.ENOTDIR)
    if missing and "/" not in program:
        return Sm120kitError(
            f"there is no command {program!r} on the PATH of this environment",
            hint="See that PATH with: sm120kit env --shell json",
            exit_code=NOT_FOUND,
        )
    reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
    return Sm120kitError(f"{program} cannot be executed: {reason}", exit_code=NOT_FOUND if missing else NOT_EXECUTABLE)

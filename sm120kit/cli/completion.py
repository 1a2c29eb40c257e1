"""``sm120kit completion``."""

from __future__ import annotations

import click

from sm120kit.cli.main import COMPLETION_VARIABLE, PROGRAM, commands
from sm120kit.cli.options import subcommand
from sm120kit.cli.output import write_result
from sm120kit.errors import GOOD

EPILOG = """\b
To have it in every shell, put the line for yours into its start-up file:
  bash  eval "$(sm120kit completion bash)"
  zsh   eval "$(sm120kit completion zsh)"
  fish  sm120kit completion fish | source
"""


@subcommand(epilog=EPILOG)
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def command(*, shell: str) -> int:
    """Print the script that completes commands, options, check ids and GPU names in a shell."""
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows all shells of the choice above"
    # Its base method: the one for bash runs bash to warn about releases before 4.4.
    write_result(ShellComplete.source(kind(commands, {}, PROGRAM, COMPLETION_VARIABLE)) + "\n")
    return GOOD

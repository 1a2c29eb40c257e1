"""The command line: which commands there are, and the one place where every failure ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from sm120kit.cli.options import Command, ending_flag
from sm120kit.errors import GOOD, INTERRUPTED, OWN_FAULT, USAGE, Sm120kitError
from sm120kit.version import __version__

PROGRAM = "sm120kit"

COMPLETION_VARIABLE = "_SM120KIT_COMPLETE"

GROUPS = {
    "Examine": {
        "doctor": "Say what is wrong with a CUDA inference stack, and what to do.",
        "why": "Name the first real error of a server's log, and its cause.",
        "smoke": "Say with one exit code whether an image or environment is fit.",
        "prove": "Compile, link and load with the target's own tools.",
        "snapshot": "Write down all that the doctor reads, to keep or to send.",
        "diff": "Say what changed between two snapshots, and what got worse.",
    },
    "Repair": {
        "fix": "Show the plan of a repair; --apply carries it out and proves it.",
        "undo": "Take a repair back, path by path.",
        "history": "List the repairs that were applied.",
        "toolkits": "List the toolkits that repairs made; --prune removes some.",
        "env": "Write the variables of a healthy run, for shells or services.",
        "run": "Run a command with these variables.",
    },
    "Plan and launch": {
        "plan": "Say how many requests a server will really run at a time.",
        "launch": "Start one SGLang server per GPU, and verify each.",
        "status": "Say how a fleet stands: what runs, what ended and why.",
        "verify": "Verify a fleet, or servers that somebody else started.",
        "logs": "Show what the servers of a fleet wrote.",
        "restart": "End servers of a fleet and start them again.",
        "stop": "End a fleet; nothing of it is left.",
        "fleets": "List the fleets of this machine.",
    },
    "Look up": {
        "explain": "Print the page of one check: what, why, how found, what to do.",
        "checks": "List all checks, and the failures known from logs.",
        "schema": "Print the JSON Schema of what the commands print as data.",
        "completion": "Print the script that completes words in bash, zsh or fish.",
    },
}
"""Every command lives in ``sm120kit.cli.NAME`` as ``command``; it is imported when it is called."""

COMMANDS = {name: help_line for group in GROUPS.values() for name, help_line in group.items()}

EPILOG = """\b
Begin with:
  sm120kit doctor                                  the environment you stand in
  sm120kit doctor --python /srv/venv/bin/python    another one
  sm120kit doctor --gpu rtx-pro-6000x8             for hardware that is not here
  sm120kit why server.log                          a server that did not start
  sm120kit fix                                     what a repair would do
  sm120kit launch --rehearse                       a launch, against stand-ins

\b
Each command says more: sm120kit doctor --help. What a finding means, its id tells:
  sm120kit explain toolkit.nv-target-missing

\b
Exit codes:
  0  good                          3  a fault of sm120kit itself
  1  findings, or not verified     4  the target cannot be examined
  2  wrong usage                 130  interrupted
"""


class Commands(Command, click.Group):
    """A group that knows its commands by name and imports one only when it is called."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"sm120kit.cli.{name}").command
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from sm120kit.cli.nearest import nearest_command

            raise Sm120kitError(
                f"there is no command {name!r}", hint=nearest_command(name, list(COMMANDS), "".join(args[1:2]))
            )
        return super().resolve_command(context, args)

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for title, members in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), help_line) for name, help_line in members.items()])


@click.command(
    cls=Commands,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[ending_flag("--version", help="Show the version and exit.", says=lambda _: f"{PROGRAM} {__version__}")],
    no_args_is_help=False,
    invoke_without_command=True,
)
@click.pass_context
def commands(context: click.Context) -> int:
    """Doctor for CUDA inference stacks on NVIDIA Blackwell.

    The doctor finds what keeps SGLang, FlashInfer and torch from starting: a compiler, headers and link libraries that
    do not fit together, a driver or a wheel that does not fit the GPU. It imports nothing of what it examines and
    changes nothing. A repair stands beside what is broken and can be taken back. A launch calls a server good only
    after it has answered.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return GOOD


def run() -> NoReturn:
    """The program ``sm120kit``."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from sm120kit.cli.output import hold_closed_streams

        hold_closed_streams()
    code = main(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    # Without taking the interpreter apart piece by piece: that takes longer than judging a snapshot.
    os._exit(code)


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; whatever happens is said on standard error, in words."""
    try:
        if os.environ.get(COMPLETION_VARIABLE):
            commands.main(list(arguments), prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE)
        return _invoke(arguments)
    except Sm120kitError as error:
        _say(error.message, error.hint, error.listed)
        return error.exit_code
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        from sm120kit.cli.usage import sentence, usage_hint

        called = next(iter(arguments), "")
        _say(sentence(error), usage_hint(error, arguments, f"{PROGRAM} {called}" if called in COMMANDS else PROGRAM))
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        from sm120kit.cli.output import silence_stdout

        silence_stdout()
        return GOOD
    except Exception as error:
        from sm120kit.cli.crash import write_crash_report
        from sm120kit.cli.output import silence_stdout, unwritable

        if isinstance(error, OSError) and _was_printing(error):
            silence_stdout()
            _say(unwritable(error).message)
            return USAGE
        path = write_crash_report(arguments, error)
        _say(
            f"stopped by a fault of its own: {type(error).__name__}: {error}",
            f"What is needed to find it stands in {path}. It holds no variables: look through it, and send it with "
            "a report of the fault",
        )
        return OWN_FAULT


def _invoke(arguments: Sequence[str]) -> int:
    with commands.make_context(PROGRAM, list(arguments)) as context:
        code: Any = commands.invoke(context)
    sys.stdout.flush()
    return int(code)


def _was_printing(error: OSError) -> bool:
    """Whether it was raised by what prints a help or a version."""
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code is not click.echo.__code__:
        trace = trace.tb_next
    return trace is not None


def _say(message: str, hint: str = "", listed: Sequence[str] = ()) -> None:
    from sm120kit.cli.saying import say

    say(message, hint, listed)

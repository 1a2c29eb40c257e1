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
from sm120kit.text import visible
from sm120kit.version import __version__

PROGRAM = "sm120kit"

COMPLETION_VARIABLE = "_SM120KIT_COMPLETE"

COMMANDS = {
    "doctor": "Say what is wrong with a CUDA inference stack, with evidence and remedy.",
    "why": "Say why a server failed, from its log: the first real error, its cause, what to do.",
    "launch": "Start one SGLang server per GPU, verify each, and leave nothing behind.",
    "status": "Say how a fleet stands: which servers run, what was verified, what ended and why.",
    "verify": "Verify a fleet or any servers that run, without owning them.",
    "logs": "Show what the servers of a fleet wrote.",
    "restart": "End servers of a fleet and start them again.",
    "stop": "End a fleet, and see to it that nothing of it is left.",
    "fleets": "List the fleets of this machine.",
    "plan": "Say how many requests a server will really run at a time, before a byte is loaded.",
    "snapshot": "Write down everything that the doctor reads, as a file to keep or to send.",
    "diff": "Say what changed between two snapshots, and what got worse.",
    "explain": "Print the page of one check: what it finds, why it matters, what to do.",
    "checks": "List all checks.",
    "schema": "Print the JSON Schema of what the commands print as data.",
    "fix": "Repair what the doctor found: show the plan, or carry it out and prove it.",
    "undo": "Take a repair back, path by path.",
    "history": "List the repairs that were applied.",
    "toolkits": "List the toolkit views and whom they serve; remove those nothing returns to.",
    "prove": "Prove a toolkit with the target's own compiler and linker.",
    "smoke": "Say with one exit code whether an image or environment is fit for its hardware.",
    "env": "Write the variables that a healthy run needs, for sh, fish, systemd or docker.",
    "run": "Run a command with these variables.",
    "completion": "Print the script that completes words in bash, zsh or fish.",
}
"""Every command lives in ``sm120kit.cli.NAME`` as ``command``; it is imported when it is called."""

EPILOG = """\b
Begin with:
  sm120kit doctor                                  the environment you stand in
  sm120kit doctor --python /srv/venv/bin/python    another one
  sm120kit doctor --gpu rtx-pro-6000x8             for hardware that is not here
  sm120kit explain toolkit.nv-target-missing       what a finding means
  sm120kit launch --rehearse                       a launch, against stand-ins

\b
Exit codes:
  0  good                      3  a fault of sm120kit itself
  1  findings                  4  the target cannot be examined
  2  wrong usage             130  interrupted
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
            raise Sm120kitError(f"there is no command {name!r}", hint=_nearest_command(name))
        return super().resolve_command(context, args)

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


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

    It finds what keeps SGLang, FlashInfer and torch from starting: a compiler, headers and link libraries that do
    not fit together, a driver or a wheel that does not fit the GPU. It imports nothing of what it examines and
    changes nothing.
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
        _say(error.message, error.hint)
        return error.exit_code
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        _say(_sentence(error), _usage_hint(error, arguments))
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


def _say(message: str, hint: str = "") -> None:
    """A message for people. Its text may hold names of files, and those may hold anything."""
    with suppress(OSError):  # the exit code tells it too, where nothing can be said
        click.echo(f"{PROGRAM}: {visible(message)}", err=True)
        if hint:
            click.echo(f"  {visible(hint)}", err=True)


def _sentence(error: click.UsageError) -> str:
    # Newer releases of click append their own guess at what was meant.
    text = error.message if isinstance(error, click.NoSuchOption) else error.format_message()
    return text[:1].lower() + text[1:].rstrip(".")


def _usage_hint(error: click.UsageError, arguments: Sequence[str]) -> str:
    called = next(iter(arguments), "")
    path = f"{PROGRAM} {called}" if called in COMMANDS else PROGRAM
    near = ""
    if isinstance(error, click.NoSuchOption) and error.ctx:
        near = _nearest_option(error.option_name, error.ctx)
    return f"{near}See: {path} --help"


def _nearest_command(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=2, cutoff=0.5)
    return f"Did you mean {' or '.join(near)}?" if near else f"The commands are {', '.join(COMMANDS)}"


def _nearest_option(name: str, context: click.Context) -> str:
    from difflib import get_close_matches

    known = [option for parameter in context.command.get_params(context) for option in parameter.opts]
    near = get_close_matches(name, known, n=2, cutoff=0.5)
    return f"Did you mean {' or '.join(near)}? " if near else ""

"""``sm120kit why``."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence

import click

from sm120kit.cli.check_options import catalogue_of, checks_dir_option
from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import encoding_of, terminal, write_result
from sm120kit.cli.target_options import Asked, target_options
from sm120kit.cli.text_option import output_option
from sm120kit.diagnosis.catalogue import Catalogue
from sm120kit.diagnosis.logs.types import STANDARD_INPUT, OnTarget, Why
from sm120kit.errors import FINDINGS, GOOD, TARGET_UNREADABLE, Sm120kitError

EPILOG = """\b
Examples:
  sm120kit why server.log
  journalctl -u sglang -b | sm120kit why
  sm120kit why server.log --python /srv/venv/bin/python
      the environment the log comes from is examined too, and says which of several causes it is

Exit codes: 0 nothing wrong in the log, 1 a cause is named, 2 wrong usage, 3 a fault of
sm120kit itself, 4 something is wrong and not known, the server was not ready where the log
ends, or LOG cannot be read or is no log.
"""


@subcommand(epilog=EPILOG)
@click.argument("logs", metavar="[LOG]", nargs=-1)
@target_options(takes_snapshot=True)
@checks_dir_option
@option("--json", "as_json", is_flag=True, help="Print the data (sm120kit.why/1) alone.")
@output_option("Write the answer to this file.")
def command(*, logs: Sequence[str], target: Asked, checks_dirs: Sequence[str], as_json: bool, output: str) -> int:
    """Say why a server failed: the first real error in its log, what it means, and what to do.

    LOG is what SGLang, a compiler or a linker wrote, of any size, also compressed by gzip. - reads
    standard input, as does no LOG where something is piped in.
    With an option that names a target, the checks that the log points to are asked about it as well.
    """
    from sm120kit.diagnosis.logs.opening import open_log
    from sm120kit.diagnosis.logs.verdict import why

    request = target.request()
    log = _one_of(logs)
    if log == target.snapshot == "-":
        raise Sm120kitError("the log and the snapshot cannot both be standard input", hint="Give one of them as a file")
    catalogue = catalogue_of(checks_dirs)
    with open_log(log) as stream:
        read = why(stream, STANDARD_INPUT if log == "-" else log, catalogue)
    if read.unreadable:
        raise Sm120kitError(
            f"{read.log}: {read.unreadable}",
            hint="Give the whole log, as the server or the build wrote it",
            exit_code=TARGET_UNREADABLE,
        )
    if target.given or target.snapshot or request.gpus or request.driver:
        read = _judged_together(read, target, catalogue)
    write_result(_rendered(read, output, as_json=as_json), output)
    return {"nothing-wrong": GOOD, "known": FINDINGS}.get(read.verdict, TARGET_UNREADABLE)


def _one_of(logs: Sequence[str]) -> str:
    """The log that was named, or ``-`` where none was and something is piped in.

    Raises:
        Sm120kitError: several were named, or none and nothing is piped in.
    """
    if len(logs) > 1:
        raise Sm120kitError(
            f"{len(logs)} logs are named, and one is read at a time",
            hint="Ask about each by itself, or about all as one: cat LOG LOG | sm120kit why -",
        )
    if not logs and not _is_piped():
        raise Sm120kitError("no log is named", hint="Name a file, or pipe a log in: journalctl -b | sm120kit why -")
    return logs[0] if logs else "-"


def _is_piped() -> bool:
    """Whether standard input is a pipe or a file, as ``cat LOG |`` and ``< LOG`` make it."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):  # closed, or none at all
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _judged_together(read: Why, target: Asked, catalogue: Catalogue) -> Why:
    """Ask the checks that the log names about the target."""
    from sm120kit.cli.doctor import report_crashes
    from sm120kit.diagnosis.case import Case
    from sm120kit.diagnosis.logs.verdict import with_target
    from sm120kit.diagnosis.report import target_sentence
    from sm120kit.diagnosis.run import run_checks

    case = Case(target.read(), target.request())
    named = dict.fromkeys(each.check for each in (*read.causes, *read.limits))
    results = run_checks([catalogue.checks[check_id] for check_id in named if check_id in catalogue.checks], case)
    report_crashes(results)
    answers = {result.check: OnTarget(result.outcome, result.reason, result.findings) for result in results}
    return with_target(read, target_sentence(case), answers)


def _rendered(read: Why, output: str, *, as_json: bool) -> str | bytes:
    if as_json:
        from sm120kit.text import encode_json

        return encode_json(read)
    from sm120kit.cli.again import examined_again
    from sm120kit.report.why import render_why

    width, colour = terminal(output)
    return render_why(read, width=width, colour=colour, encoding=encoding_of(output), again=examined_again())

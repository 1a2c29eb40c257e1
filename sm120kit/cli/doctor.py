"""``sm120kit doctor``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from msgspec.structs import replace

from sm120kit.cli.check_options import (
    catalogue_of,
    checks_dir_option,
    complete_check,
    fail_on_option,
    format_of,
    suppressions_in,
    suppressions_option,
)
from sm120kit.cli.judging import judged, with_capacity
from sm120kit.cli.launch_options import launch_options, with_launch
from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import encoding_of, terminal, write_result
from sm120kit.cli.saying import say
from sm120kit.cli.target_options import Asked, target_options
from sm120kit.cli.text_option import output_option, text_option
from sm120kit.data_dir import open_data_dir, unfinished_repair
from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.registry import Check
from sm120kit.diagnosis.report import exit_code
from sm120kit.diagnosis.selection import select
from sm120kit.diagnosis.types import CheckResult, FailOn, Outcome, Report
from sm120kit.errors import Sm120kitError

EPILOG = """\b
Examples:
  sm120kit doctor --pid 4242
      with the variables of a running service, which are seldom those of your shell
  sm120kit doctor --model /models/qwen -- --attention-backend fa3 --tp 2
      what SGLang would be asked to do, as the installed version understands it
  sm120kit doctor --root /mnt/image --gpu rtx-pro-6000x8 --format junit -o doctor.xml
      an image, before it meets the hardware
  ssh box sm120kit snapshot | sm120kit doctor --snapshot -
      a machine that only takes the snapshot

Exit codes: 0 good, 1 findings at or above --fail-on, 2 wrong usage, 3 a fault of
sm120kit itself, 4 the target cannot be examined. What could not be told is no
failure, unless --fail-on unknown says so.
"""


@subcommand(epilog=EPILOG)
@target_options(takes_snapshot=True)
@option("--only", metavar="GLOB", multiple=True, shell_complete=complete_check, help="Run these checks: 'toolkit.*'.")
@option("--skip", metavar="GLOB", multiple=True, shell_complete=complete_check, help="Leave these checks out.")
@fail_on_option
@suppressions_option
@checks_dir_option
@option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "junit", "markdown"]),
    default=None,
    help="How to write the report; text without it.",
)
@option("--json", "as_json", is_flag=True, help="The same as --format json.")
@output_option("Write the report to this file.")
@launch_options
@option("--prove", "proving", is_flag=True, help="Also compile and link for real; takes seconds.")
@text_option("--data-dir", metavar="DIR", help="Where repairs are kept; else $XDG_DATA_HOME/sm120kit.")
@option("-v", "--verbose", is_flag=True, help="Show all that was looked at.")
def command(
    *,
    target: Asked,
    only: Sequence[str],
    skip: Sequence[str],
    fail_on: FailOn,
    suppressions: str,
    checks_dirs: Sequence[str],
    form: str | None,
    as_json: bool,
    output: str,
    model: str,
    sglang: str,
    sglang_arguments: Sequence[str],
    proving: bool,
    data_dir: str,
    verbose: bool,
) -> int:
    """Say what is wrong with a CUDA inference stack: where, whose file it is, and what to do.

    Without options it examines the active environment. It imports nothing of it and changes nothing.
    """
    form = format_of(form, output, as_json=as_json)
    request = target.request()
    catalogue = catalogue_of(checks_dirs, failures=proving)
    lived_with = suppressions_in(suppressions, catalogue.checks)
    chosen = select(catalogue.checks, only, skip)
    if proving and (target.snapshot or target.options.of_image):
        raise Sm120kitError(
            "--prove runs the target's compiler, and a snapshot or an image has none that can be run",
            hint="Leave --prove out, or run it on the machine itself",
        )
    if data_dir:
        target = replace(target, options=replace(target.options, data_dir=data_dir))
    snapshot = target.read()
    request = with_launch(request, snapshot, model=model, sglang=sglang, arguments=sglang_arguments)
    case = with_capacity(Case(snapshot, request))
    if proving:
        case = _with_proofs(case, target, tuple(catalogue.checks.values()))
    report, results = judged(case, catalogue.checks, chosen, lived_with, verbose=verbose)
    write_result(_rendered(report, form, fail_on, output, verbose=verbose), output)
    if target.options.root == target.options.image_archive == target.snapshot == "" and (
        number := unfinished_repair(open_data_dir(data_dir))
    ):
        say(
            f"repair {number} is being applied or taken back right now, or was cut off",
            "Which of both: sm120kit history",
        )
    report_crashes(results)
    return exit_code(report, fail_on)


def _with_proofs(case: Case, target: Asked, checks: Sequence[Check]) -> Case:
    """The case with the proofs of every toolkit that is judged."""
    from sm120kit.cli.workbench import process_environment
    from sm120kit.proof.cache import open_cache
    from sm120kit.proof.execute import prove

    cache = open_cache()
    environment = process_environment(target.options)
    proofs = tuple(prove(case, use, checks, environment, cache=cache) for use in case.toolkits)
    return replace(case, proofs=proofs)


def _rendered(report: Report, form: str, fail_on: FailOn, output: str, *, verbose: bool) -> str | bytes:
    if form == "json":
        from sm120kit.text import encode_json

        return encode_json(report)
    if form == "junit":
        from sm120kit.report.junit import render_junit

        return render_junit(report, fail_on).encode()
    if form == "markdown":
        from sm120kit.report.markdown import render_markdown

        return render_markdown(report, verbose=verbose).encode()
    from sm120kit.cli.again import examined_again
    from sm120kit.report.terminal import render_terminal

    width, colour = terminal(output)
    return render_terminal(
        report,
        width=width,
        colour=colour,
        verbose=verbose,
        encoding=encoding_of(output),
        again=examined_again(),
    )


def report_crashes(results: Sequence[CheckResult]) -> None:
    """Write the tracebacks of crashed checks into a file to send, and name it on standard error."""
    crashed = [result for result in results if result.outcome is Outcome.CRASHED]
    if not crashed:
        return
    from sm120kit.cli.crash import write_check_crashes

    path = write_check_crashes(sys.argv[1:], crashed)
    names = ", ".join(result.check for result in crashed)
    say(f"checks stopped by a fault in their code: {names}", f"What is needed to find it stands in {path}")

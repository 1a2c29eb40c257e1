"""``sm120kit smoke``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from sm120kit.cli.check_options import (
    catalogue_of,
    checks_dir_option,
    fail_on_option,
    format_of,
    suppressions_in,
    suppressions_option,
)
from sm120kit.cli.doctor import report_crashes
from sm120kit.cli.judging import judged, with_capacity
from sm120kit.cli.launch_options import launch_options, with_launch
from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import encoding_of, terminal, write_result
from sm120kit.cli.saying import say
from sm120kit.cli.target_environment import data_dir_option
from sm120kit.cli.target_options import Asked, target_options
from sm120kit.cli.text_option import output_option, text_option
from sm120kit.diagnosis.case import Case, Request
from sm120kit.diagnosis.registry import Check
from sm120kit.diagnosis.types import FailOn, ProofReport
from sm120kit.errors import GOOD, Sm120kitError
from sm120kit.smoke.types import Level, SmokeReport, Step
from sm120kit.smoke.verdict import counted_at, is_empty, prove_step, smoke_exit_code, smoke_report, static_step
from sm120kit.snapshot.types.snapshot import Snapshot

if TYPE_CHECKING:
    from sm120kit.smoke.render import Kind

EPILOG = """\b
Examples:
  sm120kit smoke --image-archive image.tar --gpu rtx-pro-6000x8 --driver 580.95.05
      an image as docker save wrote it, on a machine without a GPU
  sm120kit smoke --level prove --gpu rtx-pro-6000 --format junit -o smoke.xml
      inside the image: the doctor, and everything compiled and linked for real
  sm120kit smoke --level serve --python /srv/venv/bin/python
      the same, and one server of a tiny model, which must answer
  sm120kit smoke --render github --gpu rtx-pro-6000 -o .github/workflows/smoke.yml
      a job that does this; gitlab and dockerfile are there too

\b
Levels, each with those before it:
  static   what the doctor says, for the hardware named
  prove    preprocess, compile and link with the target's own tools
  serve    a tiny model, made on the spot, through sm120kit launch, verified and ended

Exit codes: 0 good, 1 a step failed, 2 wrong usage, 3 a fault of sm120kit itself,
4 the target cannot be examined. A check that could not tell is no failure, unless
--fail-on unknown says so; that nothing could be proved or served at all is one at
the level that asks for it. Where GITHUB_STEP_SUMMARY names a file, the report is
appended to it.
"""

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


@subcommand(epilog=EPILOG)
@option(
    "--level",
    type=click.Choice(["static", "prove", "serve"]),
    default="static",
    show_default=True,
    help="How far to go.",
)
@click.option("--rehearse", is_flag=True, help="With --level serve: a stand-in serves, on a simulated GPU.")
@target_options(takes_snapshot=True)
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
@data_dir_option
@click.option(
    "--render",
    "kind",
    type=click.Choice(["github", "gitlab", "dockerfile"]),
    default=None,
    help="Examine nothing: write a CI job, or a Dockerfile stage that repairs an image.",
)
@text_option("--image", metavar="NAME", help="With --render: the image's name.")
@text_option("--requirement", metavar="SPEC", help="With --render: what pip installs there as sm120kit.")
def command(
    *,
    level: Level,
    rehearse: bool,
    target: Asked,
    fail_on: FailOn,
    suppressions: str,
    checks_dirs: Sequence[str],
    form: str | None,
    as_json: bool,
    output: str,
    model: str,
    sglang: str,
    sglang_arguments: Sequence[str],
    data_dir: str,
    kind: Kind | None,
    image: str,
    requirement: str,
) -> int:
    """Say with one exit code whether an image or environment is fit for the hardware it is meant for."""
    start = time.monotonic()
    request = target.request()
    if kind:
        write_result(_ci_file(kind, level, target, image, requirement), output)
        return GOOD
    if image:
        raise Sm120kitError("--image goes with --render", hint="Name the file to examine with --image-archive")
    if requirement:
        raise Sm120kitError("--requirement goes with --render", hint="It is what a CI job installs; see --help")
    form = format_of(form, output, as_json=as_json)
    checks = catalogue_of(checks_dirs).checks
    lived_with = suppressions_in(suppressions, checks)
    if level != "static" and (target.snapshot or target.options.of_image):
        raise Sm120kitError(
            f"--level {level} runs the target's programs, and a snapshot or an image has none that can be run",
            hint=f"Run it inside the image: docker run IMAGE sm120kit smoke --level {level} …",
        )
    if rehearse and level != "serve":
        raise Sm120kitError("--rehearse goes with --level serve", hint="Nothing is started at the other levels")
    target = replace(target, options=replace(target.options, data_dir=data_dir))

    snapshot = target.read()
    request = with_launch(request, snapshot, model=model, sglang=sglang, arguments=sglang_arguments)
    case = Case(snapshot, request)
    report, results = judged(with_capacity(case), checks, checks, lived_with)
    steps = [static_step(report, fail_on, time.monotonic() - start, empty=not rehearse and is_empty(case))]
    _tell(steps[-1])
    proofs: tuple[ProofReport, ...] = ()
    if level != "static":
        before_proofs = time.monotonic()
        proofs = _proofs(target, snapshot, request, checks)
        steps.append(counted_at(level, prove_step(proofs, fail_on, time.monotonic() - before_proofs), fail_on))
        _tell(steps[-1])

    fleet = None
    if level == "serve":
        from sm120kit.cli.smoke_serve import serve
        from sm120kit.smoke.serving import serve_step

        before_serving = time.monotonic()
        served = serve(target, snapshot, sglang_arguments, data_dir=data_dir, rehearse=rehearse)
        fleet = served.fleet
        steps.append(counted_at(level, serve_step(served, fail_on, time.monotonic() - before_serving), fail_on))
        _tell(steps[-1])

    smoke = smoke_report(level, steps, report, proofs, time.monotonic() - start, fleet)
    write_result(_rendered(smoke, form, fail_on, output), output)
    _append_summary(smoke)
    report_crashes(results)
    return smoke_exit_code(smoke)


def _proofs(
    target: Asked, snapshot: Snapshot, request: Request, checks: Mapping[str, Check]
) -> tuple[ProofReport, ...]:
    """Every toolkit that is judged, proved as a shell meets it that has sourced the env script of a repair."""
    from sm120kit.cli.workbench import bench_of
    from sm120kit.proof.cache import open_cache
    from sm120kit.proof.execute import prove

    bench = bench_of(target, snapshot)
    case = replace(bench.as_repaired(), request=request)
    cache, all_checks = open_cache(), tuple(checks.values())
    return tuple(
        prove(case, use, all_checks, bench.environment(case, use.toolkit.home), cache=cache) for use in case.toolkits
    )


def _ci_file(kind: Kind, level: Level, target: Asked, image: str, requirement: str) -> str:
    from sm120kit.smoke.render import render_ci

    python = target.options.python
    made = render_ci(
        kind,
        level=level,
        image=image,
        gpu=target.gpu,
        driver=target.driver,
        python=python,
        requirement=requirement,
    )
    for text in made.assumed:
        say(f"assumed {text}")
    return made.text


def _tell(step: Step) -> None:
    if sys.stderr.isatty():
        click.echo(f"  {step.name}: {step.outcome} ({step.seconds:.1f} s)", err=True)


def _rendered(smoke: SmokeReport, form: str, fail_on: FailOn, output: str) -> str | bytes:
    if form == "json":
        from sm120kit.text import encode_json

        return encode_json(smoke)
    if form == "junit":
        from sm120kit.report.junit import render_smoke_junit

        return render_smoke_junit(smoke, fail_on).encode()
    if form == "markdown":
        from sm120kit.report.markdown import render_smoke_markdown

        return render_smoke_markdown(smoke).encode()
    from sm120kit.cli.again import examined_again
    from sm120kit.report.smoke import render_smoke

    width, colour = terminal(output)
    return render_smoke(smoke, width=width, colour=colour, encoding=encoding_of(output), again=examined_again())


def _append_summary(smoke: SmokeReport) -> None:
    """GitHub shows what a step appends to this file. That it cannot be written changes no verdict."""
    path = os.environ.get(SUMMARY_VARIABLE, "")
    if not path:
        return
    from sm120kit.report.markdown import render_smoke_markdown

    try:
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(render_smoke_markdown(smoke))
    except OSError as error:
        say(f"the summary was not written to {path}: {error.strerror}")

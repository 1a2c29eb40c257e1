"""``sm120kit diff``."""

from __future__ import annotations

import os
from datetime import date

import click
from msgspec.structs import replace

from sm120kit.cli.check_options import suppressions_in, suppressions_option
from sm120kit.cli.doctor import report_crashes
from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import encoding_of, terminal, write_result
from sm120kit.cli.target_options import Asked, target_options
from sm120kit.cli.text_option import filled, output_option
from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.compare import compare
from sm120kit.diagnosis.report import make_report
from sm120kit.diagnosis.run import run_checks
from sm120kit.diagnosis.types import Outcome, Report
from sm120kit.errors import FINDINGS, GOOD, OWN_FAULT, Sm120kitError
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.snapshot import Snapshot

EPILOG = """\b
Examples:
  sm120kit diff monday.json tuesday.json
  sm120kit diff monday.json                          with the same target as it is now
  sm120kit diff monday.json --python /srv/venv/bin/python

Exit codes: 1 if it got worse (an error or a warning came, or rose), else 0.
"""


@subcommand(epilog=EPILOG)
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", default=None, callback=filled)
@target_options(takes_snapshot=True)
@suppressions_option
@option("--json", "as_json", is_flag=True, help="Print the data (sm120kit.comparison/1) alone.")
@output_option("Write the result to this file.")
def command(*, before: str, after: str, target: Asked, suppressions: str, as_json: bool, output: str) -> int:
    """Say what changed between snapshot A and snapshot B, and which findings came or went.

    Without B, A is compared with its own target as it is now, or with the one that options name. What changes by
    itself, such as free memory, is left out.
    """
    from sm120kit.snapshot.diff import changes
    from sm120kit.snapshot.store import load_snapshot

    request = target.request()
    named = "--snapshot" if target.snapshot else target.given
    if after and named:
        raise Sm120kitError(f"{named} and B both say what A is compared with", hint="Give one of the two")
    checks = read_catalogue(failures=False).checks
    lived_with = suppressions_in(suppressions, checks)
    old = load_snapshot(before)
    new = load_snapshot(after) if after else target.read() if named else _as_it_is_now(old, target)
    reports: list[Report] = []
    crashed = []
    for snapshot in (old, new):
        case = Case(snapshot, request)
        results = run_checks(checks.values(), case)
        crashed += [result for result in results if result.outcome is Outcome.CRASHED]
        reports.append(make_report(case, results, today=date.today(), suppressions=lived_with))
    comparison = compare(reports[0], reports[1], changes(old, new), two_targets=_place(old) != _place(new))
    if as_json:
        from sm120kit.text import encode_json

        write_result(encode_json(comparison), output)
    else:
        from sm120kit.report.comparison import render_comparison

        width, colour = terminal(output)
        text = render_comparison(comparison, width=width, colour=colour, encoding=encoding_of(output))
        write_result(text, output)
    report_crashes(crashed)
    if crashed:
        return OWN_FAULT
    return FINDINGS if comparison.worse else GOOD


def _as_it_is_now(old: Snapshot, asked: Asked) -> Snapshot:
    """A snapshot of the target that ``old`` was taken of, where it is here; else of the one found without options."""
    from sm120kit.snapshot.target_files import open_files

    was = old.target
    if was.image and not os.path.isfile(was.root):
        return asked.read()
    files = open_files(was.root, archive=bool(was.image))
    if not (files.is_dir("/") if was.kind == "root" else files.exists(was.path)):
        return asked.read()
    options = replace(
        asked.options,
        python=was.path if was.kind == "interpreter" else "",
        site_packages=was.path if was.kind == "site-packages" else "",
        root="" if was.image else was.root,
        image_archive=was.root if was.image else "",
        cuda_home=was.cuda_home if files.is_dir(was.cuda_home) else "",
        system_toolkits=was.system_toolkits,
    )
    new = replace(asked, options=options).read()
    return replace(new, target=replace(new.target, why="as before"))


def _place(snapshot: Snapshot) -> tuple[str, str]:
    """What makes a target the same one at another time: where its environment lies, and in which image."""
    target, python = snapshot.target, snapshot.interpreter
    home = python.value.prefix if target.kind == "interpreter" and isinstance(python, Known) else target.path
    return target.root, home

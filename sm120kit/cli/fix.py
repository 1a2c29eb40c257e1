"""``sm120kit fix``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

import click
from msgspec.structs import replace

from sm120kit.cli.again import TARGET, examined_again, typed_again
from sm120kit.cli.check_options import complete_check
from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import encoding_of, terminal, write_result
from sm120kit.cli.saved_target import asked_for, naming, typed_for
from sm120kit.cli.saying import say
from sm120kit.cli.target_environment import data_dir_option
from sm120kit.cli.target_options import Asked, target_options
from sm120kit.cli.text_option import filled, text_option
from sm120kit.cli.workbench import Workbench, host_compiler, open_workbench
from sm120kit.data_dir import open_data_dir
from sm120kit.diagnosis.case import Case, Use
from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.report import doubts_about, target_sentence
from sm120kit.diagnosis.selection import select
from sm120kit.diagnosis.types import Severity
from sm120kit.environment import compute, render
from sm120kit.errors import FINDINGS, GOOD, Sm120kitError
from sm120kit.proof.cache import open_cache
from sm120kit.proof.execute import prove
from sm120kit.proof.types import Proof, ProofReport
from sm120kit.repair.carry_out import carry_out
from sm120kit.repair.journal import discard_unwritten
from sm120kit.repair.lock import locked
from sm120kit.repair.planner import Workshop, is_repairable, make_plan, needs_packages
from sm120kit.repair.saved import applied_as, load_plan, save_plan, see_that_it_fits
from sm120kit.repair.stub import build_stub
from sm120kit.repair.transaction import recover
from sm120kit.repair.types import FIX_SCHEMA, FixReport, Plan
from sm120kit.report.remedies import Again

_CHOOSING = ("in_place", "only", "skip")
"""Parameters by which a plan comes to be what it is, beside the target."""

EPILOG = """\b
Examples:
  sm120kit fix                         show what would be done, and why
  sm120kit fix --apply                 do it, prove it, or take it back
  sm120kit fix --plan-out plan.json    keep the plan, to look at and apply later
  sm120kit fix --apply plan.json       apply that very plan, if nothing changed since

Exit codes: 0 nothing is left to repair, 1 something is: a plan to carry out, packages
to install first, or an error that no repair mends.
"""


@subcommand(epilog=EPILOG)
@target_options(takes_snapshot=False, takes_image=False)
@option("--apply", "apply", is_flag=True, help="Carry the plan out; without it nothing is written.")
@option("--in-place", is_flag=True, help="Add what is missing inside the toolkit itself, nothing beside it.")
@option("--only", metavar="GLOB", multiple=True, shell_complete=complete_check, help="Mend these findings only.")
@option("--skip", metavar="GLOB", multiple=True, shell_complete=complete_check, help="Leave these findings be.")
@text_option("--plan-out", metavar="FILE", help="Save the plan as JSON.")
@option("--json", "as_json", is_flag=True, help="Write the plan, or what was done, as JSON.")
@data_dir_option
@click.argument("saved", metavar="[PLAN]", required=False, default=None, callback=filled)
def command(
    *,
    target: Asked,
    apply: bool,
    in_place: bool,
    only: Sequence[str],
    skip: Sequence[str],
    plan_out: str,
    as_json: bool,
    data_dir: str,
    saved: str,
) -> int:
    """Repair what the doctor found, in a way that can be taken back.

    It composes a complete toolkit of links beside the broken one, proves it with the real compiler and linker, and
    makes it the live one for this target alone. Packages are never installed: those are named, ready to copy.
    """
    applying = f"sm120kit fix --apply {shlex.quote(saved or plan_out)}"
    if saved and not apply:
        raise _without_apply(saved, applying)
    if saved and (only or skip or in_place or plan_out):
        raise Sm120kitError(
            "a saved plan says itself what it does: --only, --skip, --in-place and --plan-out do not go with it",
            hint=f"Leave them out: {applying}",
        )
    kept = load_plan(saved) if saved else None
    if kept:
        target, data_dir = asked_for(kept, saved, target, data_dir), kept.data_dir
    bench = open_workbench(target, data_dir)
    heading = target_sentence(Case(bench.snapshot, target.request()))
    checks = tuple(select({check.id: check for check in bench.checks}, only, skip).values())
    if not apply:
        case = bench.as_repaired()
        plan, findings = make_plan(case, checks, _workshop(bench), target=bench.target, in_place=in_place)
        if plan_out:
            save_plan(replace(plan, named_by=naming(target, bench.snapshot.target)), plan_out)
        report = FixReport(
            FIX_SCHEMA, plan=plan, before=findings, env_script=_script(bench, plan), doubts=_doubts(case)
        )
        typed = f"sm120kit fix{typed_again((*TARGET, *_CHOOSING))} --apply"
        _write(
            report,
            examined_again(),
            applying if plan_out else typed,
            as_json=as_json,
            plan_out=plan_out,
            heading=heading,
        )
        wanting = plan.steps or plan.blocked or any(finding.severity is Severity.ERROR for finding in findings)
        return FINDINGS if wanting else GOOD
    with locked(bench.data_dir):
        unwritten, recovered = discard_unwritten(bench.data_dir), tuple(recover(bench.data_dir))
        for sentence in (*unwritten, *recovered):
            say(sentence)
        if recovered or bench.is_outdated():
            bench = open_workbench(target, data_dir)
        if kept:
            see_that_it_fits(kept, saved, bench.data_dir, bench.key, _homes(bench))
            if number := applied_as(kept, bench.data_dir):
                write_result(f"{saved} is applied already, as repair {number}. Nothing was changed.\n")
                return GOOD
            plan, findings = kept, ()
            doubts: tuple[str, ...] = ()
        else:
            case = bench.as_repaired()
            doubts = _doubts(case)
            plan, findings = make_plan(case, checks, _workshop(bench), target=bench.target, in_place=in_place)
            plan = replace(plan, named_by=naming(target, bench.snapshot.target))
        report = FixReport(
            FIX_SCHEMA,
            plan=plan,
            before=findings,
            recovered=recovered,
            env_script=_script(bench, plan),
            doubts=doubts,
        )
        if plan.steps:
            done = carry_out(
                plan,
                bench.data_dir,
                read=bench.read,
                checks=checks,
                prove=lambda case, use: _prove(bench, case, use),
                started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
                command="fix --apply",
            )
            report = FixReport(
                FIX_SCHEMA,
                plan=plan,
                before=findings,
                recovered=recovered,
                env_script=report.env_script,
                applied=done.entry.record.number,
                undo=shlex.join(["sm120kit", "undo", str(done.entry.record.number), *_where(bench)]),
                after=done.findings,
                proof=done.proof,
                former_caches=_former_caches(bench, plan),
            )
    again = Again(prove=f"sm120kit prove{typed_for(kept)}") if kept else examined_again()
    _write(report, again, as_json=as_json, heading=heading)
    wanting = any(map(is_repairable, report.after)) if report.applied else needs_packages(report.before)
    return FINDINGS if plan.blocked or wanting else GOOD


def _without_apply(word: str, applying: str) -> Sm120kitError:
    if not os.path.lexists(word) and word in read_catalogue().checks:
        return Sm120kitError(
            f"{word} is a check, and the word behind fix is the file of a saved plan",
            hint=f"To mend what this check finds, and nothing else: sm120kit fix --only {word}",
        )
    return Sm120kitError(f"a plan ({word}) is given without --apply", hint=f"Apply it with: {applying}")


def _doubts(case: Case) -> tuple[str, ...]:
    """Why nothing to repair does not mean that all is well: only where no toolkit was judged at all."""
    return () if case.toolkits else doubts_about(case)


def _former_caches(bench: Workbench, plan: Plan) -> tuple[str, ...]:
    """Caches of compiled kernels that a switch leaves behind; there are none where no view was live before."""
    if bench.live_view is None or not plan.view or bench.live_view.path == plan.view:
        return ()
    from sm120kit.repair.caches import caches_built_through

    return caches_built_through(plan.current, bench.snapshot.environment)


def _homes(bench: Workbench) -> list[str]:
    return [toolkit.home for toolkit in bench.snapshot.toolkits]


def _workshop(bench: Workbench) -> Workshop:
    return Workshop(
        data_dir=bench.data_dir,
        target_key=bench.key,
        target_place=os.path.realpath(bench.place),
        scripts=_scripts,
        stub=lambda cuda_h: build_stub(cuda_h, host_compiler(), os.environ),
    )


def _scripts(case: Case, current: str) -> Mapping[str, bytes]:
    environment = compute(case, current)
    return {
        "env.sh": os.fsencode(render(environment, "sh")),
        "env.fish": os.fsencode(render(environment, "fish")),
        "env.systemd": os.fsencode(render(environment, "systemd")),
    }


def _script(bench: Workbench, plan: Plan) -> str:
    """The script to source: where the target has a view, or will have one."""
    return f"{bench.data_dir.target(bench.key)}/env.sh" if plan.view or bench.live_view else ""


def _prove(bench: Workbench, case: Case, use: Use) -> ProofReport:
    def tell(proof: Proof) -> None:
        how = "kept from an earlier run" if proof.cached else f"{proof.seconds:.1f} s"
        click.echo(f"  {proof.outcome}: {proof.rung} ({how})", err=True)

    if sys.stderr.isatty():
        click.echo("proving with the target's compiler and linker", err=True)
    environment = bench.environment(case, use.toolkit.home)
    quiet = (lambda _: None) if not sys.stderr.isatty() else tell
    return prove(case, use, bench.checks, environment, cache=open_cache(), tell=quiet)


def _where(bench: Workbench) -> list[str]:
    """The option that leads to the data folder; none for the one that is taken without it."""
    path = bench.data_dir.path
    return ["--data-dir", path] if path != open_data_dir().path else []


def _write(
    report: FixReport, again: Again, applying: str = "", *, as_json: bool, plan_out: str = "", heading: str
) -> None:
    """``applying`` is the command that carries the plan out, where it was not; ``plan_out`` the file that holds it."""
    if as_json:
        from sm120kit.text import encode_json

        write_result(encode_json(report))
        return
    from sm120kit.report.repair import render_fix

    width, colour = terminal()
    write_result(
        render_fix(
            report,
            width=width,
            colour=colour,
            encoding=encoding_of(),
            again=again,
            applying=applying,
            plan_out=plan_out,
            heading=heading,
        )
    )

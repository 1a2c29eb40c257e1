"""``sm120kit prove``."""

from __future__ import annotations

import sys

import click
from msgspec.structs import replace

from sm120kit.cli.again import TARGET, examined_again, typed_again
from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import encoding_of, terminal, write_result
from sm120kit.cli.target_environment import data_dir_option
from sm120kit.cli.target_options import Asked, target_options
from sm120kit.cli.workbench import Workbench, choose_use, open_workbench
from sm120kit.diagnosis.case import Case, Use
from sm120kit.errors import FINDINGS, GOOD, TARGET_UNREADABLE, Sm120kitError
from sm120kit.proof.cache import open_cache
from sm120kit.proof.execute import prove
from sm120kit.proof.flashinfer_module import MODULES, flashinfer_rung
from sm120kit.proof.ladder import architectures
from sm120kit.proof.scratch import open_kept
from sm120kit.proof.types import Proof, ProofReport, Rung
from sm120kit.snapshot.facts import Known

EPILOG = """\b
Examples:
  sm120kit prove                               the toolkit that serves now
  sm120kit prove --cuda-home /usr/local/cuda   this one
  sm120kit prove --flashinfer silu_and_mul     and a genuine FlashInfer module
  sm120kit prove --keep ./proof                with sources and commands, to run by hand

Exit codes: 0 all that was run passed, 1 something failed or a compiler is missing, 4 there is nothing to prove.
"""


@subcommand(epilog=EPILOG)
@target_options(takes_snapshot=False, takes_image=False)
@option(
    "--flashinfer", "modules", metavar="MODULE", multiple=True, type=click.Choice(MODULES),
    help=f"Build this module of FlashInfer too: {', '.join(MODULES)}.",
)  # fmt: skip
@option("--fresh", is_flag=True, help="Run everything, whatever passed before.")
@option(
    "--keep", "keep_in", metavar="DIR", default="",
    help="Run everything in DIR, and keep its sources, commands (run.sh) and what they made.",
)  # fmt: skip
@option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
@data_dir_option
def command(*, target: Asked, modules: tuple[str, ...], fresh: bool, keep_in: str, as_json: bool, data_dir: str) -> int:
    """Prove a toolkit: link, preprocess, compile and load, with the flags of those who would use it.

    Where the target has a repair in place, that one is proved. Everything happens in scratch folders,
    or with --keep in a folder that stays.
    """
    bench = open_workbench(target, data_dir)
    case = bench.as_repaired()
    use = choose_use(case)
    if use is None:
        raise Sm120kitError(
            "there is no toolkit to prove: nothing installed takes one that has an nvcc",
            hint="Name one with --cuda-home",
            exit_code=TARGET_UNREADABLE,
        )
    report = prove(
        case,
        use,
        bench.checks,
        bench.environment(case, use.toolkit.home),
        cache=None if fresh else open_cache(),
        kept=open_kept(keep_in) if keep_in else None,
        more=_module_rungs(modules, bench, case, use),
        tell=_tell if sys.stderr.isatty() else lambda _: None,
    )
    _write(report, bench, case, as_json=as_json)
    return GOOD if report.passed else FINDINGS


def _module_rungs(modules: tuple[str, ...], bench: Workbench, case: Case, use: Use) -> list[Rung]:
    if not modules:
        return []
    interpreter = bench.snapshot.interpreter
    if not isinstance(interpreter, Known) or bench.snapshot.target.kind != "interpreter":
        raise Sm120kitError(
            "--flashinfer needs the target's interpreter, to run FlashInfer's own build",
            hint="Name it with --python",
        )
    targets, _ = architectures(case, use)
    number = targets[0].removeprefix("sm_")
    digits = number.rstrip("abcdefghijklmnopqrstuvwxyz")
    named = f"{digits[:-1]}.{digits[-1]}{number[len(digits) :]}"
    return [flashinfer_rung(module, interpreter.value.executable, named) for module in dict.fromkeys(modules)]


def _tell(proof: Proof) -> None:
    how = "kept from an earlier run" if proof.cached else f"{proof.seconds:.1f} s"
    click.echo(f"  {proof.outcome}: {proof.rung} ({how})", err=True)


def _repairable(bench: Workbench, case: Case) -> tuple[str, ...]:
    """Checks whose findings ``sm120kit fix`` would make a plan for."""
    from sm120kit.diagnosis.run import run_checks
    from sm120kit.repair.planner import is_repairable

    results = run_checks(bench.checks, case)
    return tuple(result.check for result in results if any(map(is_repairable, result.findings)))


def _instead_of(bench: Workbench, report: ProofReport) -> str:
    """Whom the repair that was proved stands in for, in words; empty where no repair was."""
    view, named = bench.live_view, bench.snapshot.target.cuda_home
    if view is None or report.cuda_home != view.current:
        return ""
    return named if named not in (view.current, view.path) else ""


def _unmet(bench: Workbench, report: ProofReport) -> dict[str, str]:
    """The command that installs what FlashInfer requires and the target lacks, where its own build missed a module, and
    what that is."""
    from sm120kit.diagnosis.target_pip import for_target
    from sm120kit.snapshot.files import Files
    from sm120kit.snapshot.records import missing_requirements

    stopped = any(
        proof.rung.startswith("flashinfer:") and "ModuleNotFoundError" in proof.error for proof in report.proofs
    )
    installed = bench.snapshot.distributions
    if not stopped or not isinstance(installed, Known):
        return {}
    names = missing_requirements(Files(), "flashinfer-python", installed.value)
    own = next((each for each in installed.value if each.name == "flashinfer-python"), None)
    if own is None or not names:
        return {}
    [command] = for_target([f"pip install flashinfer-python=={own.version}"], Case(bench.snapshot))
    return {command: ", ".join(names)}


def _reinstall(bench: Workbench, case: Case) -> tuple[str, ...]:
    """Commands that bring back what wheels put into the proved toolkits and what is gone, each RECORD read whole."""
    from sm120kit.diagnosis.remedies import reinstall_wheels
    from sm120kit.diagnosis.target_pip import for_target

    deep = replace(bench.asked, options=replace(bench.asked.options, deep=True)).read()
    taken = {use.toolkit.home for use in case.toolkits}
    if isinstance(deep.live_view, Known) and isinstance(deep.live_view.value.manifest, Known):
        taken |= set(deep.live_view.value.manifest.value.homes)
    gone = [each for toolkit in deep.toolkits if toolkit.home in taken for each in toolkit.gone_files]
    return for_target(reinstall_wheels(gone).commands, case) if gone else ()


def _write(report: ProofReport, bench: Workbench, case: Case, *, as_json: bool) -> None:
    if as_json:
        from sm120kit.text import encode_json

        write_result(encode_json(report))
        return
    from sm120kit.report.proof import render_proof

    width, colour = terminal()
    write_result(
        render_proof(
            report,
            width=width,
            colour=colour,
            encoding=encoding_of(),
            again=examined_again()._replace(prove=f"sm120kit prove{typed_again((*TARGET, 'modules'))}"),
            instead_of=_instead_of(bench, report),
            repairable=() if report.passed else _repairable(bench, case),
            reinstall=() if report.passed else _reinstall(bench, case),
            unmet=_unmet(bench, report),
        )
    )

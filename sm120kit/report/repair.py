"""Plans, repairs and their history as text."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Sequence

from sm120kit.diagnosis.types import Severity
from sm120kit.repair.types import FixReport, MakeDirectory, Plan, Step, SwitchLink, WriteFile
from sm120kit.report.lines import Lines, Row
from sm120kit.report.proof import verdict, write_proofs
from sm120kit.report.remedies import THIS_ENVIRONMENT, Again

_LISTED = 4
"""Paths of one folder and reason that are named; more are counted."""


def render_fix(
    report: FixReport,
    *,
    width: int,
    colour: bool,
    encoding: str = "utf-8",
    applying: str = "",
    again: Again = THIS_ENVIRONMENT,
    plan_out: str = "",
    heading: str = "",
) -> str:
    """What ``fix`` shows: the plan, or what was done. ``applying`` is the command that carries it out, ``plan_out`` the
    file that it was saved in, ``heading`` the target and what it was judged for."""
    lines = Lines(width, encoding)
    plan = report.plan
    lines.prose(heading or plan.target, style="bold")
    if plan.blocked:
        _blocked(lines, plan)
    elif plan.steps:
        _plan(lines, plan, whole=not report.applied)
    if report.applied:
        _applied(lines, report, again)
    _by_hand(lines, plan)
    lines.blank()
    _closing(lines, report, applying, plan_out)
    return lines.render(colour=colour)


def _plan(lines: Lines, plan: Plan, *, whole: bool) -> None:
    _title(lines, "Goes away")
    lines.table([Row(cure.check, cure.message) for cure in plan.cures], indent=2)
    if plan.choices:
        _title(lines, "The toolkit of links is made of")
        lines.table([Row(choice.part, choice.source, choice.why) for choice in plan.choices], indent=2)
    if not whole:
        return
    _title(lines, f"Actions ({len(plan.steps)})")
    base = "" if plan.in_place else plan.data_dir
    if base:
        lines.prose(f"below {base}", indent=2)
    folders: dict[str, dict[str, list[Step]]] = {}
    for step in plan.steps:
        here = folders.setdefault(posixpath.dirname(step.action.path), {})
        if not isinstance(step.action, MakeDirectory):
            here.setdefault(step.reason, []).append(step)
    for folder, by_reason in folders.items():
        if by_reason:
            lines.prose(
                f"{(folder.removeprefix(base).lstrip('/') if base else folder) or '.'}/", indent=2, style="bold"
            )
            lines.table([Row(_group(steps), reason) for reason, steps in by_reason.items()], indent=4)


def _group(steps: Sequence[Step]) -> str:
    """Steps of one folder and reason: one by one while they are few, else counted."""
    if len(steps) == 1:
        return _words(steps[0])
    names = [posixpath.basename(step.action.path) for step in steps]
    if len(names) <= _LISTED:
        return ", ".join(names)
    return f"{len(names)} links: {names[0]} … {names[-1]}"


def _words(step: Step) -> str:
    action = step.action
    name = posixpath.basename(action.path)
    if isinstance(action, MakeDirectory):
        return f"{name}/"
    if isinstance(action, WriteFile):
        return f"{name} (file)"
    if isinstance(action, SwitchLink):
        return f"{name} → {action.target}"
    return f"{name} → {posixpath.basename(action.target)}"


def _blocked(lines: Lines, plan: Plan) -> None:
    _title(lines, "Why nothing can be done with what is on disk")
    for reason in plan.blocked:
        lines.prose(reason, indent=4, label="  - ")
    if plan.packages:
        _title(lines, "Installed into this target, these packages complete one; then run this again")
        for package in plan.packages:
            lines.command(package, 4)


def _applied(lines: Lines, report: FixReport, again: Again) -> None:
    if report.proof:
        _title(lines, f"Proof ({report.proof.architecture}: {report.proof.architecture_why})")
        write_proofs(lines, report.proof, again)
    _title(lines, "Before and after")
    left = {(finding.check, finding.subject) for finding in report.after}
    gone = {(cure.check, cure.subject) for cure in report.plan.cures}
    rows = [Row(cure.check, "gone", cure.subject) for cure in report.plan.cures]
    rows += [
        Row(finding.check, f"remains ({finding.severity.value})", finding.subject)
        for finding in report.after
        if finding.severity is not Severity.NOTE and (finding.check, finding.subject) in left - gone
    ]
    lines.table(rows, indent=2)
    if report.former_caches:
        _title(lines, "Built with the former toolkit, and still in use until they are removed")
        for folder in report.former_caches:
            lines.raw(folder, 2)


def _by_hand(lines: Lines, plan: Plan) -> None:
    if not plan.manual:
        return
    _title(lines, "By hand")
    before: tuple[str, str] | None = None
    for step in plan.manual:
        about = (step.check, step.subject)
        # Each of them is enough by itself: what follows the first is another way.
        lines.prose(step.text, indent=4, label="  or" if about == before else "  - ")
        if about != before:
            lines.raw(f"({step.check})", 4, "dim")
        before = about
        for each in step.commands:
            lines.command(each, 8)


def _closing(lines: Lines, report: FixReport, applying: str, plan_out: str) -> None:
    plan = report.plan
    nothing = f"Nothing was written but {plan_out}" if plan_out else "Nothing was written"
    source = f". {shlex.quote(report.env_script)}"
    if report.applied:
        proved = f" {verdict(report.proof)}" if report.proof else ""
        lines.prose(f"Repaired, as number {report.applied}.{proved}", style="bold green")
        if plan.in_place:
            for home in dict.fromkeys(cure.subject for cure in plan.cures):
                name = f"export CUDA_HOME={shlex.quote(home)}"
                _command(lines, "What was added lies in the toolkit itself. A shell uses that toolkit with", name)
        else:
            _command(lines, "A shell uses it once it has sourced", source)
        _command(lines, "This takes it back, path by path", report.undo)
    elif plan.blocked:
        lines.prose(f"{nothing}{', a plan that does nothing' if plan_out else ''}.", style="bold red")
    elif plan.steps:
        lines.prose(f"{nothing}. This is the plan.", style="bold")
        _command(lines, "This carries it out, proves it, or takes it back", applying)
    elif any(finding.severity is Severity.ERROR for finding in report.before):
        lines.prose("Nothing here can be repaired without you: see above.", style="bold red")
    else:
        for doubt in report.doubts:
            lines.prose(doubt, indent=9, label="unknown", label_style="bold")
            lines.blank()
        well = "Nothing to repair." if not report.doubts else "Nothing to repair was seen; not everything was judged."
        lines.prose(well, style="" if report.doubts else "bold green")
        if report.env_script:
            _command(lines, "A shell uses the repair that is in place once it has sourced", source)


def _command(lines: Lines, text: str, command: str) -> None:
    """A command on a line of its own, never broken, to be copied."""
    lines.prose(f"{text}:", indent=2)
    lines.command(command, 4)


def _title(lines: Lines, text: str) -> None:
    lines.blank()
    lines.prose(text, style="bold underline")

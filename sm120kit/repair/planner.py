"""Turns all repair intents of one diagnosis together into one plan. Writes nothing."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from sm120kit.data_dir import DataDir
from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.registry import Check
from sm120kit.diagnosis.run import run_checks
from sm120kit.diagnosis.target_pip import for_target
from sm120kit.diagnosis.types import Finding, Manual, Repair, Severity
from sm120kit.errors import USAGE, Sm120kitError
from sm120kit.repair.compose import Composition, compose, unfit_for_nvcc
from sm120kit.repair.in_place import is_addable, missing_paths, refuse_unsuited
from sm120kit.repair.packages import what_to_install
from sm120kit.repair.paths import read_state
from sm120kit.repair.project import as_repaired, cured
from sm120kit.repair.types import (
    PLAN_SCHEMA,
    Absent,
    Cured,
    Dependency,
    FileState,
    LinkState,
    MakeDirectory,
    ManualStep,
    Plan,
    Step,
    SwitchLink,
    WriteFile,
)
from sm120kit.repair.view import dependencies_of, free_root, lay_out, list_names, manifest_of, view_steps
from sm120kit.snapshot.facts import Known, Source
from sm120kit.snapshot.types.views import LiveView
from sm120kit.version import __version__

Scripts = Callable[[Case, str], Mapping[str, bytes]]
"""Makes the env scripts (name → bytes) for a case as repaired, whose CUDA_HOME is the given link."""


@dataclass(frozen=True)
class Workshop:
    """Where a plan would write, and how the two things that it writes as bytes are made."""

    data_dir: DataDir
    target_key: str
    target_place: str
    """The folder that the key was made from: the environment's prefix, or the site-packages."""
    scripts: Scripts
    stub: Callable[[str], bytes]
    """Builds the link stub for the cuda.h of the given path."""


def make_plan(
    case: Case, checks: Iterable[Check], workshop: Workshop, *, target: str, in_place: bool = False
) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan for everything repairable in ``case``, and the findings it was made from."""
    checks = tuple(checks)
    findings = tuple(finding for result in run_checks(checks, case) for finding in result.findings)
    empty = Plan(PLAN_SCHEMA, __version__, target, workshop.target_key, workshop.data_dir.path, in_place=in_place)
    wanted = [finding for finding in findings if is_repairable(finding)]
    if not wanted:
        return replace(empty, manual=_manual(findings, ())), findings
    if in_place:
        return _in_place(case, empty, workshop, findings, wanted), findings
    made = compose(case)
    if not isinstance(made, Composition):
        return _blocked(case, empty, findings, made.reasons), findings
    return _view(case, checks, empty, workshop, findings, made), findings


def is_repairable(finding: Finding) -> bool:
    """Whether a finding is worth an action of ours: not a mere note, and with a named intent."""
    return finding.severity is not Severity.NOTE and any(isinstance(each, Repair) for each in finding.remedies)


def needs_packages(findings: Iterable[Finding]) -> bool:
    """Whether errors about toolkits remain that no action of ours mends, so that packages have to be installed."""
    return any(each.severity is Severity.ERROR and each.check.startswith("toolkit.") for each in findings)


def changed_since(plan: Plan) -> list[str]:
    """What a saved plan rests on that is no longer so, as sentences."""
    changed = []
    for each in plan.dependencies:
        now = _dependency(each.path)
        if now is None:
            changed.append(f"{each.path} is not there any more")
        elif now != each:
            changed.append(f"{each.path} has changed")
    moved = (step.action.path for step in plan.steps if read_state(step.action.path) != step.before)
    return [*changed, *(f"{path} is not as it was" for path in moved)]


def _view(
    case: Case,
    checks: Sequence[Check],
    plan: Plan,
    workshop: Workshop,
    findings: Sequence[Finding],
    made: Composition,
) -> Plan:
    data_dir, key = workshop.data_dir, workshop.target_key
    if unfit := re.search('["$`:]', data_dir.path):
        raise Sm120kitError(
            f"{data_dir.path} cannot hold a toolkit of links: nvcc finds nothing in a folder with {unfit[0]} in its "
            "name",
            hint="Give another folder with --data-dir",
            exit_code=USAGE,
        )
    current = data_dir.current(key)
    stub = b"" if made.stub else workshop.stub(made.cuda_h)
    layout = lay_out(made, list_names, stub)
    dependencies = tuple(found for path in dependencies_of(made) if (found := _dependency(path)) is not None)
    manifest = manifest_of(layout, made, dependencies, target=workshop.target_place, tool_version=__version__)
    root = free_root(layout, f"{data_dir.toolkits}/{manifest.digest}")
    live_view = LiveView(current, root, f"{data_dir.target(key)}/env.sh", True, Known(manifest, Source("file", root)))
    projected = as_repaired(case, made, layout, live_view)
    after = [finding for result in run_checks(checks, projected) for finding in result.findings]
    cures = cured(findings, after, current)
    build: list[Step] = []
    contents: dict[str, bytes] = {}
    folder = data_dir.target(key)
    if isinstance(read_state(folder), Absent):
        build.append(Step(MakeDirectory(folder), Absent(), "the folder of this target"))
    if isinstance(read_state(root), Absent):
        steps, contents = view_steps(layout, root, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        build += steps
    goes_to = os.path.relpath(root, folder)
    live = read_state(current) == LinkState(goes_to)
    scripts = workshop.scripts(projected, current)
    # Some values follow the memory that happens to be free: a repair that stands is not written again for them.
    wanted_scripts = {name: content for name, content in scripts.items() if not live or _is_missing(folder, name)}
    switch = _script_steps(folder, wanted_scripts, contents)
    if not live:
        switch.append(Step(SwitchLink(current, goes_to), read_state(current), "makes it the live one"))
    return replace(
        plan,
        steps=(*build, *switch),
        switch_from=len(build),
        contents=contents,
        dependencies=dependencies,
        choices=made.choices,
        cures=cures,
        leaves=_leaves(after, {current}),
        manual=_manual(after, ()),
        view=root,
        current=current,
    )


def _in_place(
    case: Case, plan: Plan, workshop: Workshop, findings: Sequence[Finding], wanted: Sequence[Finding]
) -> Plan:
    steps: list[Step] = []
    contents: dict[str, bytes] = {}
    about = {finding.subject for finding in wanted}
    lacking: list[str] = []
    trees = [use.toolkit for use in case.toolkits if about & {use.toolkit.home, *use.toolkit.aliases}]
    for tree in trees:
        refuse_unsuited(tree)
        header = tree.part("driver-header")
        stub = workshop.stub(header.path) if header and not case.snapshot.driver.libcuda_links else b""
        added = missing_paths(tree, case, list_names, stub)
        steps += added.steps
        contents |= added.contents
        lacking += added.lacking
    beyond = [each for each in wanted if each.severity is Severity.ERROR and not is_addable(each)]
    lacking += [f"adding paths does not mend {each.check}: {each.message}" for each in beyond]
    if lacking:
        return _blocked(case, plan, findings, lacking)
    cures = tuple(Cured(each.check, each.subject, each.message) for each in wanted if steps and is_addable(each))
    parts = [part.path for tree in trees for part in tree.parts] if steps else []
    return replace(
        plan,
        steps=tuple(steps),
        switch_from=len(steps),
        contents=contents,
        dependencies=tuple(found for path in parts if (found := _dependency(path)) is not None),
        cures=cures,
        manual=_manual(findings, cures),
    )


def _blocked(case: Case, plan: Plan, findings: Sequence[Finding], reasons: Sequence[str]) -> Plan:
    """The plan that does nothing, says why, and names the packages that are wanted."""
    if plan.in_place and isinstance(compose(case), Composition):
        reasons, shopping = (
            [*reasons, "a toolkit of links mends all of it: sm120kit fix --apply, without --in-place"],
            None,
        )
    else:
        shopping = what_to_install(case)
    # What the packages mend needs no other way beside them, least of all one of another release.
    # Nor do packages where nvcc cannot work: what it does not find there is on disk.
    left = [each for each in findings if not (is_repairable(each) and (shopping or unfit_for_nvcc(each.subject)))]
    commands = for_target(shopping.commands, case) if shopping else ()
    return replace(plan, blocked=tuple(reasons), packages=commands, manual=_manual(left, ()))


def _leaves(findings: Sequence[Finding], homes: Collection[str]) -> tuple[Cured, ...]:
    """What the plan knows to leave about the repaired toolkits."""
    return tuple(
        Cured(each.check, each.subject, each.message)
        for each in findings
        if each.subject in homes and each.severity is not Severity.NOTE
    )


def _script_steps(folder: str, scripts: Mapping[str, bytes], contents: dict[str, bytes]) -> list[Step]:
    steps = []
    for name, content in scripts.items():
        digest = hashlib.sha256(content).hexdigest()
        path, before = f"{folder}/{name}", read_state(f"{folder}/{name}")
        if before != FileState(digest, 0o644):
            contents[digest] = content
            steps.append(Step(WriteFile(path, digest), before, "the environment that a healthy run needs"))
    return steps


def _is_missing(folder: str, name: str) -> bool:
    return isinstance(read_state(f"{folder}/{name}"), Absent)


def _dependency(path: str) -> Dependency | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return Dependency(path, status.st_size, status.st_mtime_ns)


def _manual(findings: Sequence[Finding], cures: Sequence[Cured]) -> tuple[ManualStep, ...]:
    """What people have to do about the findings that remain, each said once."""
    gone = {(cure.check, cure.subject) for cure in cures}
    steps = [
        ManualStep(finding.check, finding.subject, remedy.text, remedy.commands)
        for finding in findings
        if (finding.check, finding.subject) not in gone and finding.severity is not Severity.NOTE
        for remedy in finding.remedies
        if isinstance(remedy, Manual)
    ]
    return tuple(dict.fromkeys(steps))

"""Carries a plan out: build beside the live state, prove, switch, read again; all taken back if it did not help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sm120kit.data_dir import DataDir
from sm120kit.diagnosis.case import Case, Use
from sm120kit.diagnosis.registry import Check
from sm120kit.diagnosis.run import run_checks
from sm120kit.diagnosis.types import Finding, Severity
from sm120kit.proof.types import Proof, ProofReport
from sm120kit.repair.journal import Entry
from sm120kit.repair.planner import changed_since
from sm120kit.repair.transaction import Refused, apply_plan
from sm120kit.repair.types import Plan

Read = Callable[[str], Case]
"""Reads the target as if CUDA_HOME were the given folder; an empty one leaves its environment as it is."""

Prove = Callable[[Case, Use], ProofReport]


@dataclass(frozen=True)
class Done:
    """A repair that was applied, proved and seen to help."""

    entry: Entry
    findings: tuple[Finding, ...]
    """What the checks still find, the target read as if the env script had been sourced."""
    proof: ProofReport | None
    """``None`` where nothing was there to prove."""


def carry_out(
    plan: Plan,
    data_dir: DataDir,
    *,
    read: Read,
    checks: Sequence[Check],
    prove: Prove,
    started_at: str,
    command: str,
) -> Done:
    """Apply ``plan``; the caller holds the lock and has recovered.

    Raises:
        Refused: something changed since the plan was made, a write was refused, a proof failed, or a finding that
            was to go did not. Everything was taken back.
    """
    changed = changed_since(plan)
    if changed:
        raise Refused(
            f"the plan no longer fits: {changed[0]}" + (f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""),
            hint="Nothing was changed. Make a new plan: sm120kit fix",
        )
    proofs: list[ProofReport] = []

    def before_switch() -> str:
        case = read(plan.view)
        # What is said about the live link is about the former view as yet.
        about_new = [each for each in _findings(checks, case) if each.subject != plan.current]
        remaining = _remaining(plan, about_new, plan.view)
        if remaining:
            return remaining
        use = next((use for use in case.toolkits if use.named or not plan.view), None)
        if use is None:
            return f"{plan.view or 'the repaired toolkit'} is not seen as a toolkit"
        proofs.append(prove(case, use))
        return _unproved(proofs[-1], plan)

    after: list[tuple[Finding, ...]] = []

    def at_end() -> str:
        after.append(_findings(checks, read(plan.current)))
        return _remaining(plan, after[-1], plan.current)

    entry = apply_plan(
        data_dir, plan, started_at=started_at, command=command, before_switch=before_switch, at_end=at_end
    )
    return Done(entry, after[-1], proofs[-1] if proofs else None)


def _findings(checks: Sequence[Check], case: Case) -> tuple[Finding, ...]:
    return tuple(finding for result in run_checks(checks, case) for finding in result.findings)


def _remaining(plan: Plan, findings: Sequence[Finding], home: str) -> str:
    """A sentence about the first finding that was to go and did not, or that came with the repair; else empty.

    ``home`` is the name under which the repaired toolkit was read.
    """
    here = {(each.check, each.subject) for each in findings if each.severity is not Severity.NOTE}
    for cure in plan.cures:
        if {(cure.check, cure.subject), (cure.check, home)} & here:
            return f"{cure.check} about {cure.subject} is still found after the repair"
    known = {(each.check, each.subject) for each in plan.leaves}
    for each in findings:
        subject = plan.current if home and each.subject == home else each.subject
        about_it = subject == plan.current and bool(plan.current)
        if each.severity is Severity.ERROR and about_it and (each.check, subject) not in known:
            return f"{each.check} is found after the repair: {each.message}"
    return ""


def _unproved(report: ProofReport, plan: Plan) -> str:
    """A sentence about the first proof that failed; empty when what failed is for a person to mend.

    Whether the driver loads is such a thing: no toolkit changes it.
    """
    manual = {step.check for step in plan.manual}
    for proof in report.proofs:
        if proof.prevented:
            return f"the toolkit cannot be proved: {proof.reason}. {proof.remedy}"
        if proof.outcome == "failed" and proof.rung != "load" and proof.check not in manual:
            return f"the proof {named(proof)} failed: {proof.error}"
    return ""


def named(proof: Proof) -> str:
    """A proof with whose flags it used."""
    return f"{proof.rung} ({', '.join(proof.consumers)})" if proof.consumers else proof.rung

"""What a step came to, and what all of them together: pure, from the reports."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.report import exit_code
from sm120kit.diagnosis.types import FailOn, ProofReport, Report
from sm120kit.errors import FINDINGS, GOOD, OWN_FAULT
from sm120kit.fleet.types import Fleet
from sm120kit.smoke.types import SCHEMA, Level, SmokeReport, Step, StepOutcome
from sm120kit.version import __version__

_JUDGED = ("torch", "sglang", "vllm", "flashinfer-python", "triton", "sgl-kernel", "sglang-kernel", "apache-tvm-ffi")
_EMPTY = "nothing to judge was found: none of torch, SGLang, vLLM, FlashInfer, Triton and tvm-ffi, and no CUDA toolkit"


def is_empty(case: Case) -> bool:
    """Whether the target holds nothing of what makes a CUDA inference stack."""
    return not case.toolkits and not any(map(case.distribution, _JUDGED))


def static_step(report: Report, fail_on: FailOn, seconds: float, *, empty: bool = False) -> Step:
    """The step ``static``: it fails by what makes the doctor fail, and where the target is ``empty``, so that a wrong
    path or a build that copied nothing is not taken for a good image."""
    summary = report.summary
    counts = ((summary.errors, "error"), (summary.warnings, "warning"), (summary.notes, "note"))
    found = ", ".join(_counted(*each) for each in counts)
    if exit_code(report, fail_on) != GOOD:
        reason = (
            f"{_counted(summary.crashed, 'check')} stopped by a fault in its code; {found}"
            if summary.crashed
            else found
        )
        return Step("static", "failed", reason, seconds)
    if empty and fail_on != "never":
        return Step("static", "failed", _EMPTY, seconds)
    if summary.verdict == "unknown":
        reason = (
            summary.doubts[0].rstrip(".") if summary.doubts else f"{_counted(summary.unknown, 'check')} could not tell"
        )
        return Step("static", "unknown", reason, seconds)
    return Step("static", "passed", f"{_counted(summary.checks, 'check')}: {found}", seconds)


def prove_step(proofs: Sequence[ProofReport], fail_on: FailOn, seconds: float) -> Step:
    """The step ``prove``: it fails where a toolkit is not proved, and cannot tell where there is none to prove."""
    rungs = [proof for report in proofs for proof in report.proofs]
    failed = sum(proof.outcome == "failed" for proof in rungs)
    prevented = list(dict.fromkeys(proof.reason for proof in rungs if proof.prevented))
    ran = sum(proof.outcome == "passed" for proof in rungs)
    if failed or prevented:
        counts = [f"{failed} of {_counted(failed + ran, 'proof')} failed"] if failed else []
        return Step("prove", _failing(fail_on), "; ".join([*counts, *prevented]), seconds)
    if not ran:
        reason = "nothing could be proved: " + (
            "no proof could be run" if proofs else "nothing installed takes a toolkit that has an nvcc"
        )
        return Step("prove", "failed" if fail_on == "unknown" else "unknown", reason, seconds)
    homes = ", ".join(report.cuda_home for report in proofs)
    return Step("prove", "passed", f"{_counted(ran, 'proof')} of {homes}", seconds)


def counted_at(level: Level, step: Step, fail_on: FailOn) -> Step:
    """The step as it counts at that level. What was asked for by name, and could not be done at all, has not passed: a
    machine whose GPU or compiler is gone must not look like a good one. ``static`` exits like the doctor."""
    if step.name == level != "static" and step.outcome == "unknown" and fail_on != "never":
        return replace(step, outcome="failed")
    return step


def smoke_report(
    level: Level,
    steps: Sequence[Step],
    report: Report,
    proofs: Sequence[ProofReport],
    seconds: float,
    fleet: Fleet | None = None,
) -> SmokeReport:
    """All of it together."""
    outcomes = {step.outcome for step in steps}
    outcome: StepOutcome = "passed"
    if "failed" in outcomes:
        outcome = "failed"
    elif "unknown" in outcomes:
        outcome = "unknown"
    return SmokeReport(
        SCHEMA, __version__, level, report.target, outcome, seconds, tuple(steps), report, tuple(proofs), fleet
    )


def smoke_exit_code(smoke: SmokeReport) -> int:
    """What the command ends with. A crashed check is our own fault, whatever the steps say."""
    if smoke.report.summary.crashed:
        return OWN_FAULT
    return FINDINGS if smoke.outcome == "failed" else GOOD


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _failing(fail_on: FailOn) -> StepOutcome:
    return "passed" if fail_on == "never" else "failed"

"""A proof as text: what was tried, with whose flags, and the first true error line of what failed."""

from __future__ import annotations

from sm120kit.proof.types import Proof, ProofReport
from sm120kit.report.lines import Lines, Row

_WORDS = {"passed": "passed", "failed": "FAILED", "not-run": "not run"}


def render_proof(report: ProofReport, *, width: int, colour: bool) -> str:
    """The whole report of ``prove``."""
    lines = Lines(width)
    lines.prose(f"Proof of {report.cuda_home}", style="bold")
    lines.prose(f"compiled for {report.architecture}: {report.architecture_why}", indent=2)
    lines.blank()
    write_proofs(lines, report)
    lines.blank()
    lines.prose(verdict(report), style="bold green" if report.passed else "bold red")
    return lines.render(colour=colour)


def write_proofs(lines: Lines, report: ProofReport) -> None:
    """One row for each rung, and under a failed one its error and the check that explains it."""
    lines.table([_row(proof) for proof in report.proofs], indent=2)
    for proof in report.proofs:
        if proof.outcome != "failed":
            continue
        lines.blank()
        lines.prose(_name(proof), indent=2, style="bold red")
        lines.prose(proof.error, indent=4)
        if proof.check:
            lines.raw(f"sm120kit explain {proof.check}", 4, "cyan")


def verdict(report: ProofReport) -> str:
    """The outcome in one sentence."""
    failed = sum(proof.outcome == "failed" for proof in report.proofs)
    passed = sum(proof.outcome == "passed" for proof in report.proofs)
    if failed:
        return f"Not proved: {failed} of {failed + passed} failed."
    if not passed:
        return "Nothing was proved: no rung could be run."
    return f"Proved: {passed} passed."


def _row(proof: Proof) -> Row:
    how = "as before, nothing it read has changed" if proof.cached else f"{proof.seconds:.1f} s"
    if proof.outcome == "not-run":
        how = proof.reason
    return Row(_name(proof), f"{_WORDS[proof.outcome]}: {proof.shows}", how)


def _name(proof: Proof) -> str:
    return f"{proof.rung} ({', '.join(proof.consumers)})" if proof.consumers else proof.rung

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
    """One row for each rung, then for each that failed what it was to show, its command and the check that explains
    it, and what kept others from being run."""
    lines.table([_row(proof) for proof in report.proofs], indent=2)
    for proof in report.proofs:
        if proof.outcome != "failed":
            continue
        lines.blank()
        lines.prose(_name(proof), indent=2, style="bold red")
        lines.prose(f"was to show that {proof.shows}", indent=4)
        lines.raw(proof.command, 4)
        if proof.check:
            lines.raw(f"sm120kit explain {proof.check}", 4, "cyan")

    if any(proof.outcome == "failed" for proof in report.proofs):
        lines.blank()
        lines.prose("The sources, the commands and what they made stay in DIR with:", indent=2)
        lines.raw("sm120kit prove --keep DIR", 4, "cyan")
    for remedy in dict.fromkeys(proof.remedy for proof in report.proofs if proof.prevented):
        lines.blank()
        lines.prose(remedy, indent=2)


def verdict(report: ProofReport) -> str:
    """The outcome in one sentence."""
    failed = sum(proof.outcome == "failed" for proof in report.proofs)
    passed = sum(proof.outcome == "passed" for proof in report.proofs)
    prevented = dict.fromkeys(proof.reason for proof in report.proofs if proof.prevented)
    why = [f"{failed} of {failed + passed} failed"] if failed else []
    if failed or prevented:
        return f"Not proved: {'; '.join([*why, *prevented])}."
    if not passed:
        return "Nothing was proved: no rung could be run."
    return f"Proved: {passed} passed."


def _row(proof: Proof) -> Row:
    word = _WORDS[proof.outcome]
    if proof.outcome == "failed":
        return Row(_name(proof), word, proof.error)
    if proof.outcome == "not-run":
        return Row(_name(proof), word, proof.reason)
    how = "as before, nothing it read has changed" if proof.cached else f"{proof.seconds:.1f} s"
    return Row(_name(proof), word, f"{proof.shows} ({how})")


def _name(proof: Proof) -> str:
    return f"{proof.rung} ({', '.join(proof.consumers)})" if proof.consumers else proof.rung

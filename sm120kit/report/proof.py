"""A proof as text: what was tried, with whose flags, and the first true error line of what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sm120kit.proof.types import Proof, ProofReport
from sm120kit.report.lines import Lines, Row
from sm120kit.report.remedies import REPAIR_EXPLAINED, THIS_ENVIRONMENT, Again

_WORDS = {"passed": "passed", "failed": "FAILED", "not-run": "not run"}


def render_proof(
    report: ProofReport,
    *,
    width: int,
    colour: bool,
    encoding: str = "utf-8",
    again: Again = THIS_ENVIRONMENT,
    repairable: Sequence[str] | None = None,
    reinstall: Sequence[str] = (),
    instead_of: str = "",
    unmet: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The whole report of ``prove``.

    ``repairable`` are the checks whose findings about the target a repair would mend; ``None`` = another part of the
    report tells that. ``instead_of`` is the toolkit that was named and that a repair stands in for. ``reinstall`` are
    commands that bring back files which wheels put in place and which are gone, ``unmet`` those that install what a
    build of FlashInfer missed.
    """
    lines = Lines(width, encoding)
    lines.prose(f"Proof of {report.cuda_home}", style="bold")
    if instead_of:
        lines.prose(f"the repair of this target, which stands in for {instead_of}", indent=2)
    lines.prose(f"compiled for {report.architecture}: {report.architecture_why}", indent=2)
    lines.blank()
    write_proofs(lines, report, again)
    lines.blank()
    lines.prose(verdict(report), style="bold green" if report.passed else "bold red")
    if repairable is not None and any(proof.outcome == "failed" for proof in report.proofs):
        brings = "brings back files of this toolkit that wheels put there and that are gone"
        steps = [(command, brings) for command in reinstall]
        steps += [
            (command, f"installs what FlashInfer requires and this target lacks: {names}")
            for command, names in unmet.items()
        ]
        lines.steps(steps + _next_step(again, repairable, (*reinstall, *unmet)))
    return lines.render(colour=colour)


def _next_step(again: Again, repairable: Sequence[str], named: Sequence[str]) -> list[tuple[str, str]]:
    if repairable:
        mends = f"can mend what the doctor finds here ({', '.join(repairable)}): it {REPAIR_EXPLAINED}"
        return [(again.repair, mends)]
    if named:
        return []
    return [(again.examine, "examines all around it; no repair is known for what failed")]


def write_proofs(lines: Lines, report: ProofReport, again: Again) -> None:
    """One row for each rung, then for each that failed what it was to show, its command and the check that explains
    it, and what kept others from being run."""
    lines.table([_row(proof) for proof in report.proofs], indent=2)
    for proof in report.proofs:
        if proof.outcome != "failed":
            continue
        lines.blank()
        lines.prose(_name(proof), indent=2, style="bold red")
        lines.prose(f"was to show that {proof.shows}", indent=4)
        lines.command(proof.command, 4)
        if proof.check:
            lines.command(f"sm120kit explain {proof.check}", 4)

    if any(proof.outcome == "failed" for proof in report.proofs):
        lines.blank()
        lines.prose("The sources, the commands and what they made stay in DIR with:", indent=2)
        lines.command(f"{again.prove} --keep DIR", 4)
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
        return "Nothing was proved: no step could be run."
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

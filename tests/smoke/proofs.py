"""Proofs as data, for tests of what is made of them."""

from __future__ import annotations

from sm120kit.diagnosis.types import PROOF_SCHEMA, Proof, ProofOutcome, ProofReport


def proof(
    rung: str,
    outcome: ProofOutcome = "passed",
    *,
    error: str = "",
    check: str = "",
    reason: str = "",
    remedy: str = "",
    consumers: tuple[str, ...] = ("flashinfer",),
) -> Proof:
    """One rung."""
    return Proof(
        rung, consumers, f"{rung} works", outcome, f"nvcc -x {rung}",
        error=error, check=check, reason=reason, remedy=remedy, seconds=0.25,
    )  # fmt: skip


def proofs(*rungs: Proof, home: str = "/opt/cuda") -> ProofReport:
    """All proofs of one toolkit."""
    return ProofReport(PROOF_SCHEMA, "0", home, "sm_120a", "compute capability 12.0 (--gpu)", rungs, 0.5)

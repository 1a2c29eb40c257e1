"""A proof as text."""

from __future__ import annotations

from sm120kit.proof.types import SCHEMA, Outcome, Proof, ProofReport
from sm120kit.report.proof import render_proof


def text(outcome: Outcome, *, error: str = "", reason: str = "") -> str:
    command = "c++ linked.cpp -o linked.so"
    proof = Proof("link", (), "the linker finds the libraries", outcome, command, error=error, reason=reason)
    return render_proof(ProofReport(SCHEMA, "0", "/cuda", "sm_120a", "as asked", (proof,)), width=110, colour=False)


def test_a_failed_proof_is_not_told_with_the_words_of_success() -> None:
    shown = text("failed", error="ld: cannot find -lcudart")
    assert "link  FAILED  ld: cannot find -lcudart" in shown
    assert "was to show that the linker finds the libraries" in shown
    assert "\n    c++ linked.cpp -o linked.so\n" in shown
    assert "sm120kit prove --keep DIR" in shown
    assert not [line for line in shown.splitlines() if "FAILED" in line and "finds the libraries" in line]


def test_passed_and_not_run() -> None:
    assert "link  passed  the linker finds the libraries (0.0 s)" in text("passed")
    shown = text("not-run", reason="no driver library")
    assert "link  not run  no driver library" in shown
    assert "finds the libraries" not in shown

"""concurrency: what the server grants is what the plan predicted, or what was asked for."""

from __future__ import annotations

from sm120kit.fleet.types import Verdict

TOLERANCE = 0.02
"""Share of the predicted number by which less may be granted: free memory before loading varies by some hundred MiB,
and slots are counted in whole ones. One request less is always let pass."""


def judge_concurrency(requested: int | None, predicted: int | None, granted: int | None, problem: str = "") -> Verdict:
    """``problem``: why the server did not tell what it grants."""
    if granted is None:
        return _verdict(False, f"what it grants is not known: {problem or '/server_info does not tell'}")
    chain = " → ".join(
        (
            f"requested {requested if requested is not None else 'nothing (SGLang chooses)'}",
            f"predicted {predicted if predicted is not None else 'unknown'}",
            f"granted {granted}",
        )
    )
    if granted <= 0:
        return _verdict(False, f"{chain}: it can run no request")
    wanted = predicted if predicted is not None else requested
    if wanted is not None and granted < wanted - max(1, int(TOLERANCE * wanted)):
        if predicted is None:
            return _verdict(False, f"{chain}: {wanted - granted} fewer than asked for, and no plan says why. "
                                   "`sm120kit plan MODEL --check URL` works it out")  # fmt: skip
        return _verdict(False, f"{chain}: {wanted - granted} fewer than the plan says this GPU holds")
    if requested is not None and granted < requested:
        if predicted is None:
            return _verdict(True, f"{chain}: as asked for but for {requested - granted}")
        return _verdict(True, f"{chain}: the memory holds no more, as planned; the others would wait in its queue")
    return _verdict(True, chain)


def _verdict(passed: bool, evidence: str) -> Verdict:
    return Verdict("concurrency", passed, evidence)

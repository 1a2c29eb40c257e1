"""Cases of toolkit.proof-failed."""

from sm120kit.proof.types import SCHEMA, Outcome, Proof, ProofReport
from tests.builders import CU13, snapshot
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown, with_proofs

CHECK = "toolkit.proof-failed"

_ERROR = "/usr/bin/ld: cannot find -lcudart: No such file or directory"


def _report(
    rung: str, outcome: Outcome, *, error: str = "", check: str = "", reason: str = "", remedy: str = ""
) -> ProofReport:
    proof = Proof(rung, ("flashinfer",), "it works", outcome, "c++ -shared -lcudart", error, check, reason, remedy)
    return ProofReport(SCHEMA, "0", CU13, "sm_120a", "as asked", (proof,))


CASES = [
    with_proofs(healthy("every rung passed", snapshot()), _report("link", "passed")),
    with_proofs(
        broken(
            "the link fails, and a check explains it",
            snapshot(),
            an_error(f"{CU13}: link (flashinfer)", "cannot find -lcudart", "c++ -shared"),
        ),
        _report("link", "failed", error=_ERROR, check="toolkit.cudart-unlinkable"),
    ),
    with_proofs(
        broken("nothing explains it", snapshot(), an_error(f"{CU13}: cub (flashinfer)", "strange")),
        _report("cub", "failed", error="error: strange"),
    ),
    with_proofs(look_alike("passed as before", snapshot()), _report("compile", "passed")),
    with_proofs(unknown("no driver to load", snapshot()), _report("load", "not-run", reason="no driver library")),
    with_proofs(
        unknown("no compiler on PATH", snapshot()),
        _report("link", "not-run", reason="no gcc/c++ on PATH", remedy="Install gcc and g++"),
    ),
    not_applicable("no proof was asked for", snapshot()),
]

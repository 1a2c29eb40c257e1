"""What the doctor says of the target, asked with the very launch line."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.run import run_checks
from sm120kit.diagnosis.types import Outcome
from sm120kit.fleet.preflight.types import Answer
from sm120kit.fleet.preparation.prepare import Prepared

_ABOUT_THE_LINE = ("sglang.argument-renamed", "attention.", "kernels.")
"""What can be said of a rehearsal's launch line: nothing of a target was read."""

_WITHOUT_A_GPU = ("sglang.argument-renamed", "sglang.pins-violated", "wheels.")
"""What matters to a server on the CPU: it takes no toolkit, driver or kernel of CUDA."""


def ask_doctor(prepared: Prepared, _environment: Mapping[str, str]) -> Answer:
    """Errors and warnings of all checks that have to do with these servers. Capacity is another question (plan)."""
    checks = read_catalogue(failures=False).checks
    if prepared.spec.rehearsal:
        checks = {name: check for name, check in checks.items() if name.startswith(_ABOUT_THE_LINE)}
    elif not any(replica.gpus for replica in prepared.spec.replicas):
        checks = {name: check for name, check in checks.items() if name.startswith(_WITHOUT_A_GPU)}
    results = run_checks(checks.values(), replace(prepared.case, capacity=None))
    findings = tuple(finding for result in results for finding in result.findings)
    crashed = [result.check for result in results if result.outcome is Outcome.CRASHED]
    unknown = sum(result.outcome is Outcome.UNKNOWN for result in results)
    judged = sum(result.outcome is not Outcome.NOT_APPLICABLE for result in results)
    text = f"{judged} checks of the target with this launch line"
    if unknown:
        text += f", {unknown} of them could not tell"
    if crashed:
        text += f"; stopped by a fault of their own: {', '.join(crashed)}"
    return Answer("doctor", text, findings)

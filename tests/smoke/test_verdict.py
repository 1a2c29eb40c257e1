"""What a step and a whole smoke test come to."""

from __future__ import annotations

import pytest

from sm120kit.diagnosis.types import FailOn, Proof, ProofOutcome, ProofReport, Severity
from sm120kit.smoke.types import Level
from sm120kit.smoke.verdict import counted_at, prove_step, smoke_exit_code, smoke_report, static_step
from tests.builders import no_driver, snapshot
from tests.reports import crashed, finding, found, ok, report, unknown
from tests.smoke.proofs import proof, proofs

GOOD = report(ok())
ERROR = report(found(finding()))
WARNING = report(found(finding("driver.slow", Severity.WARNING)))
UNKNOWN = report(unknown())
BLIND = report(ok(), snapshot=snapshot(toolkits=(), driver=no_driver()))
CRASHED = report(crashed(), found(finding()))


@pytest.mark.parametrize(
    ("judged", "fail_on", "outcome", "code"),
    [
        (GOOD, "error", "passed", 0),
        (ERROR, "error", "failed", 1),
        (ERROR, "never", "passed", 0),
        (WARNING, "error", "passed", 0),
        (WARNING, "warning", "failed", 1),
        (UNKNOWN, "error", "unknown", 0),
        (UNKNOWN, "unknown", "failed", 1),
        (BLIND, "error", "unknown", 0),
        (CRASHED, "error", "failed", 3),
        (CRASHED, "never", "failed", 3),
    ],
)
def test_static_fails_by_what_makes_the_doctor_fail(judged: object, fail_on: FailOn, outcome: str, code: int) -> None:
    step = static_step(judged, fail_on, 1.5)  # type: ignore[arg-type]
    assert (step.name, step.outcome, step.seconds) == ("static", outcome, 1.5)
    assert step.reason
    smoke = smoke_report("static", [step], judged, (), 1.5)  # type: ignore[arg-type]
    assert (smoke.outcome, smoke_exit_code(smoke)) == (outcome, code)


def test_what_could_not_be_told_is_named() -> None:
    assert "No GPU could be asked" in static_step(BLIND, "error", 0).reason


@pytest.mark.parametrize(
    ("rungs", "fail_on", "outcome", "piece"),
    [
        ([proof("link"), proof("load", "not-run", reason="no driver")], "error", "passed", "1 proof of /opt/cuda"),
        ([proof("link"), proof("compile", "failed", error="no")], "error", "failed", "1 of 2 proofs failed"),
        ([proof("link"), proof("compile", "failed", error="no")], "never", "passed", "1 of 2"),
        ([proof("link", "not-run", reason="no g++ here", remedy="get one")], "error", "failed", "no g++ here"),
        ([proof("load", "not-run", reason="no driver")], "error", "unknown", "no proof could be run"),
        ([proof("load", "not-run", reason="no driver")], "unknown", "failed", "no proof could be run"),
    ],
)
def test_prove(rungs: list[Proof], fail_on: FailOn, outcome: str, piece: str) -> None:
    step = prove_step([proofs(*rungs)], fail_on, 2)
    assert step.outcome == outcome
    assert piece in step.reason


def test_two_toolkits_must_both_be_proved() -> None:
    good, bad = proofs(proof("link")), proofs(proof("link", "failed", error="no"), home="/usr/local/cuda")
    assert prove_step([good, bad], "error", 0).outcome == "failed"
    assert prove_step([good, good], "error", 0).outcome == "passed"


def test_nothing_to_prove_is_unknown() -> None:
    step = prove_step([], "error", 0)
    assert step.outcome == "unknown"
    assert "nothing installed takes a toolkit" in step.reason


@pytest.mark.parametrize(
    ("static", "prove", "outcome", "code"),
    [
        (GOOD, "passed", "passed", 0),
        (GOOD, "failed", "failed", 1),
        (UNKNOWN, "passed", "unknown", 0),
        (ERROR, "passed", "failed", 1),
        (CRASHED, "failed", "failed", 3),
    ],
)
def test_steps_together(static: object, prove: ProofOutcome, outcome: str, code: int) -> None:
    made: tuple[ProofReport, ...] = (proofs(proof("link", prove, error="no" * (prove == "failed"))),)
    steps = [static_step(static, "error", 1), prove_step(made, "error", 2)]  # type: ignore[arg-type]
    smoke = smoke_report("prove", steps, static, made, 3)  # type: ignore[arg-type]
    assert (smoke.outcome, smoke_exit_code(smoke)) == (outcome, code)


@pytest.mark.parametrize(
    ("level", "fail_on", "outcome"),
    [("prove", "error", "failed"), ("prove", "never", "unknown"), ("serve", "error", "unknown")],
)
def test_what_was_asked_for_and_could_not_be_done_has_not_passed(level: Level, fail_on: FailOn, outcome: str) -> None:
    step = counted_at(level, prove_step([], fail_on, 0), fail_on)
    assert step.outcome == outcome
    assert "nothing installed takes a toolkit" in step.reason
    blind = static_step(BLIND, "error", 0)
    assert counted_at("static", blind, "error") == blind

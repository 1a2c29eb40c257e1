"""What a server that was started for a smoke test came to."""

from __future__ import annotations

from typing import NamedTuple

from sm120kit.diagnosis.types import FailOn
from sm120kit.fleet.types import Fleet
from sm120kit.smoke.types import Step, StepOutcome


class Served(NamedTuple):
    """One server."""

    fleet: Fleet | None
    """As it was judged; ``None``: none was started."""
    outcome: StepOutcome
    reason: str


def judge_fleet(judged: Fleet, ended: Fleet) -> Served:
    """The outcome of a server that was started: verified, and gone without a trace."""
    (replica,) = judged.replicas
    rehearsed = "in a rehearsal, which shows nothing of the hardware: " if judged.rehearsal else ""
    if not judged.verified:
        against = [f"{each.name}: {each.evidence}" for each in replica.verdicts if each.passed is False]
        died = [f"{death.exit}: {death.causes[0].message}" for death in replica.deaths[-1:] if death.causes]
        died = died or [f"it ended ({death.exit})" for death in replica.deaths[-1:]]
        reasons = against or died or ["it was not verified"]
        return Served(judged, "failed", rehearsed + "; ".join(reasons))
    left = [event.text for event in ended.events if "more than before the launch" in event.text]
    if left:
        return Served(judged, "failed", rehearsed + left[0])
    return Served(
        judged,
        "passed",
        f"{rehearsed}a tiny model answered, {replica.granted} requests at a time, verified at level {judged.level}, "
        "and was ended with nothing left",
    )


def serve_step(served: Served, fail_on: FailOn, seconds: float) -> Step:
    """The step ``serve``."""
    outcome = served.outcome
    if outcome == "unknown" and fail_on == "unknown":
        outcome = "failed"
    if outcome == "failed" and fail_on == "never":
        outcome = "passed"
    return Step("serve", outcome, served.reason, seconds)

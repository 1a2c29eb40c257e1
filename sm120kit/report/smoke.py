"""A smoke test as text: its steps with their times, then what the doctor and the proofs say."""

from __future__ import annotations

from sm120kit.report.fleet import render_summary
from sm120kit.report.lines import Lines, Row
from sm120kit.report.proof import render_proof
from sm120kit.report.remedies import THIS_ENVIRONMENT, Again
from sm120kit.report.terminal import render_terminal
from sm120kit.smoke.types import SmokeReport

WORDS = {"passed": "passed", "failed": "FAILED", "unknown": "unknown"}
_STYLES = {"passed": "bold green", "failed": "bold red", "unknown": "bold"}


def render_smoke(
    smoke: SmokeReport,
    *,
    width: int = 100,
    colour: bool = False,
    encoding: str = "utf-8",
    again: Again = THIS_ENVIRONMENT,
) -> str:
    """The whole report; the verdict stands at the end, where a CI log ends."""
    parts = [render_terminal(smoke.report, width=width, colour=colour, encoding=encoding, again=again)]
    parts += [render_proof(proof, width=width, colour=colour, encoding=encoding, again=again) for proof in smoke.proofs]
    if smoke.fleet:
        parts.append(render_summary(smoke.fleet, smoke.fleet.updated, width=width, colour=colour, encoding=encoding))
    lines = Lines(width, encoding)
    lines.table([Row(step.name, f"{WORDS[step.outcome]}, {step.seconds:.1f} s", step.reason) for step in smoke.steps])
    lines.prose(verdict(smoke), style=_STYLES[smoke.outcome])
    return "\n".join([*parts, lines.render(colour=colour)])


def verdict(smoke: SmokeReport) -> str:
    """The outcome in one sentence."""
    failed = [step.name for step in smoke.steps if step.outcome == "failed"]
    if failed:
        listed = " and ".join(filter(None, (", ".join(failed[:-1]), failed[-1])))
        where = f" at {listed}" if len(smoke.steps) > 1 else ""
        return f"Smoke test at level {smoke.level} failed{where} ({smoke.seconds:.1f} s)."
    if smoke.outcome == "unknown":
        return (
            f"Smoke test at level {smoke.level}: nothing failed, and not everything could be told; with "
            "--fail-on unknown that fails."
        )
    return f"Smoke test at level {smoke.level} passed ({smoke.seconds:.1f} s)."

"""Reports as Markdown: the doctor's to paste into an issue, that of a smoke test for the page of a CI run."""

from __future__ import annotations

import re

from sm120kit.diagnosis.types import Evidence, Fact, Outcome, Proof, Report, ReportedFinding
from sm120kit.fleet.types import Verdict
from sm120kit.report.remedies import shown
from sm120kit.report.wording import headline, suppression_remarks, tally, unknowns
from sm120kit.smoke.types import SmokeReport
from sm120kit.text import copyable, visible


def render_markdown(report: Report, *, verbose: bool = False) -> str:
    """The report as GitHub Markdown; text from the target stands in code spans or is escaped."""
    return "\n".join(["# sm120kit doctor", "", *_report(report, verbose=verbose)]) + "\n"


def render_smoke_markdown(smoke: SmokeReport) -> str:
    """A smoke test: its steps as a table, then what the doctor said, then each proof."""
    lines = ["# sm120kit smoke", "", "| step | outcome | seconds | |", "|---|---|---|---|"]
    lines += [
        f"| {step.name} | **{step.outcome}** | {step.seconds:.1f} | {_escaped(step.reason)} |" for step in smoke.steps
    ]
    lines += ["", *_report(smoke.report, verbose=False)]
    for proof in smoke.proofs:
        lines += ["", f"## Proof of {_escaped(proof.cuda_home)}", "", "| proof | outcome | |", "|---|---|---|"]
        lines += [_proof_row(each) for each in proof.proofs]
    if smoke.fleet:
        lines += ["", "## The server", "", "| verdict | outcome | |", "|---|---|---|"]
        verdicts = [verdict for replica in smoke.fleet.replicas for verdict in replica.verdicts]
        lines += [f"| {each.name} | {_judged(each)} | {_escaped(each.evidence)} |" for each in verdicts]
    return "\n".join(lines) + "\n"


def _judged(verdict: Verdict) -> str:
    return {True: "passed", False: "failed", None: "not judged"}[verdict.passed]


def _proof_row(proof: Proof) -> str:
    name = f"{proof.rung} ({', '.join(proof.consumers)})" if proof.consumers else proof.rung
    said = proof.error or proof.reason or proof.shows
    cells = (name, proof.outcome, f"{said} ({proof.check})" if proof.check else said)
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _report(report: Report, *, verbose: bool) -> list[str]:
    lines = [
        f"Target: {_escaped(report.target)}",
        "",
        f"**{headline(report)}** ({tally(report)})",
    ]
    lines += [f"\n{_escaped(doubt)}" for doubt in report.summary.doubts]
    for finding in report.findings:
        if not finding.suppressed:
            lines += _finding(finding)
    lines += _list("Could not tell", [f"{_escaped(text)} ({', '.join(ids)})" for text, ids in unknowns(report).items()])
    crashed = [line for line in report.checks if line.outcome is Outcome.CRASHED]
    lines += _list("Crashed", [f"`{line.check}`: {_escaped(line.reason)}" for line in crashed])
    suppressed = [finding for finding in report.findings if finding.suppressed]
    lines += _list("Suppressed", [f"{_line(each)} — {_escaped(each.suppression_reason)}" for each in suppressed])
    lines += _list("Suppression file", [_escaped(remark) for remark in suppression_remarks(report)])
    if verbose:
        for group in report.looked_at:
            lines += ["", f"## {_escaped(group.title)}", "", "| | | |", "|---|---|---|", *map(_row, group.facts)]
    return [*lines, "", f"Made by sm120kit {report.tool_version}."]


def _finding(finding: ReportedFinding) -> list[str]:
    lines = ["", f"## {_line(finding)}", "", f"Check `{finding.check}`, fingerprint `{finding.fingerprint}`.", ""]
    lines += [_evidence(evidence) for evidence in finding.evidence]
    for remedy in finding.remedies:
        text, commands = shown(remedy)
        lines += ["", _escaped(text) + (":" if commands else "")]
        if commands:
            fence = _fence("\n".join(commands), 3)
            lines += ["", f"{fence}sh", *map(copyable, commands), fence]
    return lines


def _line(finding: ReportedFinding) -> str:
    return f"{finding.severity.value}: {_escaped(finding.message)}"


def _evidence(evidence: Evidence) -> str:
    where = evidence.where + (f":{evidence.line}" if evidence.line else "")
    pieces = [" ".join(_code(line) for line in evidence.text.split("\n") if line.strip())]
    pieces += [_code(where)] if where else []
    pieces += [f"from {_code(evidence.owner)}"] if evidence.owner else []
    return "- " + ", ".join(piece for piece in pieces if piece)


def _list(title: str, items: list[str]) -> list[str]:
    return ["", f"## {title}", "", *(f"- {item}" for item in items)] if items else []


def _row(fact: Fact) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in (fact.label, fact.value, fact.where)) + " |"


def _escaped(text: str) -> str:
    """``text`` so that Markdown and HTML see no markup in it, and nobody is notified by an ``@name``."""
    return re.sub(r"([\\`*_{}\[\]<>#|~@&])", r"\\\1", visible(text)).replace("\\@", "&#64;")


def _code(text: str) -> str:
    """``text`` in a code span that its own backticks cannot end."""
    text = visible(text)
    fence = _fence(text, 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(least, longest + 1)

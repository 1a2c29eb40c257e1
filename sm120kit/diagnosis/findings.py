"""Short ways to write findings and evidence in a check."""

from __future__ import annotations

from collections.abc import Sequence

from sm120kit.diagnosis.types import Evidence, Finding, Remedy, Severity
from sm120kit.snapshot.facts import Fact, Known
from sm120kit.snapshot.types.toolkits import Part


def finding(
    severity: Severity, subject: str, message: str, evidence: Sequence[Evidence], remedies: Sequence[Remedy] = ()
) -> Finding:
    """A finding of the check that yields it; the runner fills in the check's id."""
    return Finding("", severity, subject, message, tuple(evidence), tuple(remedies))


def error(subject: str, message: str, evidence: Sequence[Evidence], remedies: Sequence[Remedy] = ()) -> Finding:
    """Something installed or asked for will not start, or gives wrong results."""
    return finding(Severity.ERROR, subject, message, evidence, remedies)


def warning(subject: str, message: str, evidence: Sequence[Evidence], remedies: Sequence[Remedy] = ()) -> Finding:
    """Something runs worse than it could, or will break soon."""
    return finding(Severity.WARNING, subject, message, evidence, remedies)


def note(subject: str, message: str, evidence: Sequence[Evidence], remedies: Sequence[Remedy] = ()) -> Finding:
    """Worth knowing."""
    return finding(Severity.NOTE, subject, message, evidence, remedies)


def at(text: str, where: str = "", owner: str = "", line: int = 0) -> Evidence:
    """Evidence: ``text`` as seen at ``where`` (a path, command line or variable)."""
    return Evidence(text, where, line, owner)


def part_evidence(part: Part) -> Evidence:
    """A toolkit component with its release, its path and the wheel that owns it."""
    release = part.release.value if isinstance(part.release, Known) else f"of unknown release ({part.release.reason})"
    changed = ", changed since it was installed" if part.altered else ""
    return Evidence(f"{part.name} {release}{changed}", part.path, 0, part.owner)


def fact_evidence(label: str, fact: Fact[str]) -> Evidence:
    """A fact with its source, or why it is unknown."""
    if isinstance(fact, Known):
        return Evidence(f"{label} {fact.value}", fact.source.where, fact.source.line, fact.source.owner)
    return Evidence(f"{label} unknown: {fact.reason}")

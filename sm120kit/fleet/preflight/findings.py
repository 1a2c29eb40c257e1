"""A finding of preflight, written shortly."""

from __future__ import annotations

from collections.abc import Sequence

from sm120kit.diagnosis.types import Evidence, Finding, Remedy, Severity


def stops(check: str, subject: str, message: str, evidence: Sequence[Evidence], remedies: Sequence[Remedy]) -> Finding:
    """Something that would fail: an error."""
    return Finding(check, Severity.ERROR, subject, message, tuple(evidence), tuple(remedies))


def notes(check: str, subject: str, message: str, evidence: Sequence[Evidence], remedies: Sequence[Remedy]) -> Finding:
    """Something worth knowing."""
    return Finding(check, Severity.NOTE, subject, message, tuple(evidence), tuple(remedies))


def warns(check: str, subject: str, message: str, evidence: Sequence[Evidence], remedies: Sequence[Remedy]) -> Finding:
    """Something that will run worse than it could: a warning."""
    return Finding(check, Severity.WARNING, subject, message, tuple(evidence), tuple(remedies))

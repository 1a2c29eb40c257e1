"""What a check file may import: ``from sm120kit.diagnosis import Case, Evidence, check, error``."""

from sm120kit.diagnosis.case import Case, Request, Use
from sm120kit.diagnosis.findings import at, error, fact_evidence, finding, note, part_evidence, warning
from sm120kit.diagnosis.registry import NotApplicable, check, log_failure, preflight_question
from sm120kit.diagnosis.releases import Release
from sm120kit.diagnosis.tables import read_table
from sm120kit.diagnosis.types import (
    CannotTell,
    Evidence,
    Finding,
    LogRemedy,
    Manual,
    Outcome,
    Remedy,
    Repair,
    Severity,
    Signature,
)
from sm120kit.snapshot.facts import Fact, Known, Unknown

__all__ = [
    "CannotTell",
    "Case",
    "Evidence",
    "Fact",
    "Finding",
    "Known",
    "LogRemedy",
    "Manual",
    "NotApplicable",
    "Outcome",
    "Release",
    "Remedy",
    "Repair",
    "Request",
    "Severity",
    "Signature",
    "Unknown",
    "Use",
    "at",
    "check",
    "error",
    "fact_evidence",
    "finding",
    "log_failure",
    "note",
    "part_evidence",
    "preflight_question",
    "read_table",
    "warning",
]

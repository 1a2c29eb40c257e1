"""Data cases for checks: a case, and what the check must say about it."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from dataclasses import replace as replace_data_case
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from sm120kit.diagnosis.capacity import CapacityPrediction
from sm120kit.diagnosis.case import Case, NamedGpu, Request
from sm120kit.diagnosis.types import Finding, Outcome, ProofReport, Severity
from sm120kit.snapshot.facts import Fact
from sm120kit.snapshot.types.snapshot import Snapshot

Kind = Literal["healthy", "broken", "unknown", "look-alike", "not-applicable"]


@dataclass(frozen=True)
class Expected:
    """A finding that must appear. ``contains`` are pieces of its message or evidence."""

    severity: Severity
    subject: str
    contains: tuple[str, ...] = ()

    def fits(self, finding: Finding) -> bool:
        """Whether ``finding`` is this one."""
        text = "\n".join([finding.message, *(f"{each.text} {each.where} {each.owner}" for each in finding.evidence)])
        return (
            finding.severity is self.severity
            and finding.subject == self.subject
            and all(piece in text for piece in self.contains)
        )


@dataclass(frozen=True)
class DataCase:
    """One case of one check. Every finding must be expected, and every expected one found."""

    kind: Kind
    name: str
    case: Case
    expect: tuple[Expected, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """What the check must come to."""
        if self.expect:
            return Outcome.FOUND
        return {
            "healthy": Outcome.OK,
            "look-alike": Outcome.OK,
            "unknown": Outcome.UNKNOWN,
            "not-applicable": Outcome.NOT_APPLICABLE,
        }[self.kind]


def healthy(name: str, snapshot: Snapshot, *, request: Request | None = None) -> DataCase:
    """The check must look and say: well."""
    return DataCase("healthy", name, Case(snapshot, request or Request()))


def look_alike(name: str, snapshot: Snapshot, *, request: Request | None = None) -> DataCase:
    """Resembles the failure and is none: the check must stay silent."""
    return DataCase("look-alike", name, Case(snapshot, request or Request()))


def unknown(name: str, snapshot: Snapshot, *, request: Request | None = None) -> DataCase:
    """Too little is known: the check must say so."""
    return DataCase("unknown", name, Case(snapshot, request or Request()))


def not_applicable(name: str, snapshot: Snapshot, *, request: Request | None = None) -> DataCase:
    """There is nothing to judge."""
    return DataCase("not-applicable", name, Case(snapshot, request or Request()))


def broken(name: str, snapshot: Snapshot, *expect: Expected, request: Request | None = None) -> DataCase:
    """The check must find exactly what is expected."""
    return DataCase("broken", name, Case(snapshot, request or Request()), expect)


def with_proofs(made: DataCase, *proofs: ProofReport) -> DataCase:
    """The same case with proofs that were run before."""
    return replace_data_case(made, case=replace(made.case, proofs=proofs))


def with_capacity(made: DataCase, capacity: Fact[CapacityPrediction]) -> DataCase:
    """The same case with what the server asked about was predicted to grant."""
    return replace_data_case(made, case=replace(made.case, capacity=capacity))


def an_error(subject: str, *contains: str) -> Expected:
    """An error about ``subject``."""
    return Expected(Severity.ERROR, subject, contains)


def a_warning(subject: str, *contains: str) -> Expected:
    """A warning about ``subject``."""
    return Expected(Severity.WARNING, subject, contains)


def a_note(subject: str, *contains: str) -> Expected:
    """A note about ``subject``."""
    return Expected(Severity.NOTE, subject, contains)


def what_if(compute_capability: str, driver: str = "", count: int = 1) -> Request:
    """Hardware named as ``--gpu`` would."""
    return Request((NamedGpu(compute_capability, compute_capability, count),), driver)


def read_cases() -> dict[str, list[DataCase]]:
    """All cases by check id: every file ``tests/cases/FAMILY/NAME.py`` sets ``CHECK`` and ``CASES``."""
    found: dict[str, list[DataCase]] = {}
    for path in sorted(Path(__file__).parent.glob("*/*.py")):
        spec = importlib.util.spec_from_file_location(f"cases_{path.parent.name}_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.setdefault(module.CHECK, []).extend(module.CASES)
    return found

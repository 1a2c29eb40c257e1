"""What preflight found, as data."""

from __future__ import annotations

from sm120kit.capacity.types import Plan
from sm120kit.diagnosis.types import Finding, Severity
from sm120kit.fleet.types import Struct


class Answer(Struct, frozen=True):
    """What one question came to."""

    question: str
    """``doctor``, ``plan``, ``ports``, ``gpus``, ``model``, ``host``, ``stage``."""
    text: str
    """What was looked at, as a sentence without its full stop."""
    findings: tuple[Finding, ...] = ()


class ServerPlan(Struct, frozen=True):
    """What is predicted of servers that are alike."""

    replicas: tuple[int, ...]
    hardware: str
    plan: Plan | None
    reason: str = ""
    """Why there is no plan; empty = there is one."""
    arguments: tuple[str, ...] = ()
    """What these servers are given beside the common arguments."""


class Preflight(Struct, frozen=True):
    """All answers, and what of them was lived with (``--force``)."""

    answers: tuple[Answer, ...]
    plans: tuple[ServerPlan, ...] = ()
    forced: tuple[str, ...] = ()
    """Ids of findings that do not stop the launch."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them, the worst first."""
        found = [finding for answer in self.answers for finding in answer.findings]
        return tuple(sorted(found, key=lambda finding: -finding.severity.rank))

    @property
    def stopping(self) -> tuple[Finding, ...]:
        """Errors that nobody lives with: with one of them nothing is started."""
        return tuple(each for each in self.findings if each.severity is Severity.ERROR and not self.is_forced(each))

    def is_forced(self, finding: Finding) -> bool:
        """Whether ``--force`` names it."""
        return finding.check in self.forced

"""Findings and what belongs to them, as plain data. ``Report`` is what every output format is made from."""

from __future__ import annotations

from enum import Enum
from typing import Literal

import msgspec

from sm120kit.snapshot.types.snapshot import Change

SCHEMA = "sm120kit.report/1"
COMPARISON_SCHEMA = "sm120kit.comparison/1"


class Struct(msgspec.Struct, frozen=True):
    """Base of all diagnosis data."""


FailOn = Literal["error", "warning", "unknown", "never"]
"""What makes a command fail (``--fail-on``): each word takes in those before it, except ``never``."""


class Severity(str, Enum):
    """error = will not start or gives wrong results, for something installed or asked for; warning = runs worse
    or breaks soon; note = worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """3 for error, 2 for warning, 1 for note."""
        return {"error": 3, "warning": 2, "note": 1}[self.value]

    def reaches(self, fail_on: FailOn) -> bool:
        """Whether a finding of this severity makes a command fail that was given ``--fail-on``."""
        return self.rank >= {"error": 3, "warning": 2, "unknown": 2, "never": 4}[fail_on]


class Outcome(str, Enum):
    """What became of one check."""

    OK = "ok"
    FOUND = "found"
    NOT_APPLICABLE = "not_applicable"
    UNKNOWN = "unknown"
    CRASHED = "crashed"


class Evidence(Struct, frozen=True):
    """One thing that a person can look at for themselves.

    ``text`` is the fact (``CUDART_VERSION 13020``, ``not found``), ``where`` the path, command line or variable,
    ``owner`` the wheel (``name version``) that installed the file.
    """

    text: str
    where: str = ""
    line: int = 0
    owner: str = ""


class Manual(Struct, frozen=True, tag="manual", tag_field="kind"):
    """A remedy for people: what to do, and commands ready to copy. It is never run by us."""

    text: str
    commands: tuple[str, ...] = ()


class Repair(Struct, frozen=True, tag="repair", tag_field="kind"):
    """A named intent that ``sm120kit fix`` turns into actions.

    ``intent``: ``compose_view``, ``add_missing_links``, … ``parameters`` name what it is about (``cuda_home``).
    """

    text: str
    intent: str
    parameters: dict[str, str] = {}
    needs_consent: bool = False
    """It changes what a package owns, and is done with ``--in-place`` alone."""


Remedy = Manual | Repair


class Finding(Struct, frozen=True):
    """One thing wrong (or worth knowing) about one subject. Without evidence there is no finding."""

    check: str
    severity: Severity
    subject: str
    """What it is about: a path, a wheel, a consumer. With ``check`` it identifies the finding across runs."""
    message: str
    evidence: tuple[Evidence, ...]
    remedies: tuple[Remedy, ...] = ()

    def __post_init__(self) -> None:
        if not self.evidence:
            raise ValueError(f"finding of {self.check} about {self.subject} has no evidence")


class CannotTell(Struct, frozen=True):
    """A check's word that it could not judge one subject, and why."""

    subject: str
    reason: str


class Suppression(Struct, frozen=True):
    """One line of a suppression file. Check and subject are globs; ``expires`` is an ISO date or empty."""

    check: str
    reason: str
    subject: str = "*"
    expires: str = ""


class CheckResult(Struct, frozen=True):
    """One check's outcome. ``reason`` says why it did not apply, could not tell, or how it crashed."""

    check: str
    outcome: Outcome
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    unknowns: tuple[CannotTell, ...] = ()
    traceback: str = ""


class ReportedFinding(Struct, frozen=True):
    """A finding as reported: with its fingerprint and whether a suppression covers it."""

    check: str
    severity: Severity
    subject: str
    message: str
    evidence: tuple[Evidence, ...]
    remedies: tuple[Remedy, ...]
    fingerprint: str
    """16 hexadecimal digits of check and subject: stable across runs, machines and wordings."""
    suppressed: bool = False
    suppression_reason: str = ""


class CheckLine(Struct, frozen=True):
    """One row of ``checks[]`` in a report."""

    check: str
    outcome: Outcome
    reason: str = ""
    unknowns: tuple[CannotTell, ...] = ()


class Fact(Struct, frozen=True):
    """One line of what was looked at, for ``-v``: a label, the value as text, and where it was read."""

    label: str
    value: str
    where: str = ""


class FactGroup(Struct, frozen=True):
    """A titled table of facts (Target, Host, Driver, Toolkits, Which toolkit each consumer takes)."""

    title: str
    facts: tuple[Fact, ...]


class Summary(Struct, frozen=True):
    """Counts over all findings and checks; suppressed ones are counted apart."""

    errors: int
    warnings: int
    notes: int
    suppressed: int
    unknown: int
    crashed: int
    checks: int
    verdict: Literal["good", "findings", "unknown", "crashed"]
    """``unknown``: nothing wrong was seen, and too little could be read to call it good (see ``doubts``)."""
    doubts: tuple[str, ...] = ()
    """Plain sentences: no GPU was seen, no toolkit was found, …"""


class Report(Struct, frozen=True):
    """The whole of one diagnosis."""

    schema: str
    tool_version: str
    target: str
    """One sentence: which target, and why that one."""
    findings: tuple[ReportedFinding, ...]
    """Worst first."""
    checks: tuple[CheckLine, ...]
    summary: Summary
    expired_suppressions: tuple[Suppression, ...] = ()
    unused_suppressions: tuple[Suppression, ...] = ()
    looked_at: tuple[FactGroup, ...] = ()


class Comparison(Struct, frozen=True):
    """What changed between two snapshots, and which findings came or went with it."""

    schema: str
    tool_version: str
    before: str
    """One sentence: which target, and why that one."""
    after: str
    two_targets: bool
    """Whether these are two environments, not one at two times: then what differs may always have differed."""
    changes: tuple[Change, ...]
    appeared: tuple[ReportedFinding, ...]
    gone: tuple[ReportedFinding, ...]
    worse: bool
    """Whether an error or a warning came that was not there, or one rose to an error."""


class LogRemedy(Struct, frozen=True):
    """What to do about a line in a log: text and commands, templates as :attr:`Signature.message` is one. A remedy that
    names what is not known is left out.

    It holds for the versions ``first`` to ``last`` of ``package``, both included, an empty bound bounding nothing;
    without a package, for all.
    """

    text: str
    commands: tuple[str, ...] = ()
    package: str = ""
    first: str = ""
    last: str = ""


Rank = Literal["cause", "consequence", "limit", "stage", "wrapper"]
"""What a line in a log is: the fault itself; a fault that any other in the same log would explain; no fault, but the
server does less than was asked of it, or soon will; how far its start has come; or only the news that something else
failed."""


class Signature(Struct, frozen=True):
    """The known text of a failure in a log.

    ``pattern`` is a regular expression for one line, its prefixes and colours taken off. ``example`` is one real
    line, ``look_alike`` a line that must not match. ``versions`` names what it was seen with; ``source`` where.
    """

    pattern: str
    rank: Rank
    example: str
    look_alike: str
    source: str
    versions: str = ""
    message: str = ""
    """What the line means, as a sentence without its full stop; ``{name}`` stands for a named group of the pattern, a
    setting of the server that its log tells, or a version (``{sglang_version}``). ``[[with {name}|without it]]`` reads
    one way where that is known and the other where not. Empty, or with a name that is not known: the title of the
    page."""
    remedies: tuple[LogRemedy, ...] = ()
    """Empty: what the page says under Remedy."""


PROOF_SCHEMA = "sm120kit.proof/1"

ProofOutcome = Literal["passed", "failed", "not-run"]


class Proof(Struct, frozen=True):
    """One rung with its outcome."""

    rung: str
    consumers: tuple[str, ...]
    shows: str
    outcome: ProofOutcome
    command: str
    error: str = ""
    """The first true error line, not its wrapper's."""
    check: str = ""
    """The check whose signature explains that line."""
    reason: str = ""
    """Why it was not run."""
    remedy: str = ""
    """What to do so that it can be run; empty where nothing is amiss. Until then the toolkit is not proved."""
    seconds: float = 0.0
    cached: bool = False

    @property
    def prevented(self) -> bool:
        """Whether it was not run for want of something that a proof needs."""
        return self.outcome == "not-run" and bool(self.remedy)


class ProofReport(Struct, frozen=True):
    """All proofs of one toolkit."""

    schema: str
    tool_version: str
    cuda_home: str
    architecture: str
    """What was compiled for (``sm_120a``; several with commas), and in ``architecture_why`` why that."""
    architecture_why: str
    proofs: tuple[Proof, ...]
    seconds: float = 0.0
    """Wall time of all of them, side by side."""

    @property
    def passed(self) -> bool:
        """Whether something was run, nothing failed and nothing was kept from being run."""
        outcomes = {proof.outcome for proof in self.proofs}
        return "failed" not in outcomes and "passed" in outcomes and not any(each.prevented for each in self.proofs)


CHECKS_SCHEMA = "sm120kit.checks/1"


class ListedCheck(Struct, frozen=True):
    """One entry of the catalogue, with its page and the signatures of its failure."""

    id: str
    title: str
    path: str
    page: str
    signatures: tuple[Signature, ...]
    only_in_logs: bool
    only_at_launch: bool


class CheckList(Struct, frozen=True):
    """The whole catalogue as data."""

    schema: str
    checks: tuple[ListedCheck, ...]

"""What a log says, as plain data. ``Why`` is what every output of ``sm120kit why`` is made from."""

from __future__ import annotations

from typing import Literal

import msgspec

from sm120kit.diagnosis.types import Finding, Outcome, Rank, Remedy

SCHEMA = "sm120kit.why/1"

STANDARD_INPUT = "standard input"
"""What a log is called that has no name."""


class Struct(msgspec.Struct, frozen=True):
    """Base of all data about logs."""


Verdict = Literal["nothing-wrong", "known", "not-ready", "not-known"]


class LogLine(Struct, frozen=True):
    """One line, its prefixes and colours taken off, cut to what can be read, secrets replaced.

    ``line`` counts from 1. ``process`` is the rank that wrote it, as the log calls it (``TP3``), or empty.
    """

    line: int
    text: str
    process: str = ""


class SeenVersion(Struct, frozen=True):
    """A version that the log tells. ``exact`` False: the log only has the form that this version gives it."""

    package: str
    version: str
    line: int
    exact: bool = True


class OnTarget(Struct, frozen=True):
    """What the check that a log points to says about the target that was named beside the log."""

    outcome: Outcome
    reason: str = ""
    findings: tuple[Finding, ...] = ()


class Cause(Struct, frozen=True):
    """One fault that the log shows. ``line``, ``text`` and ``process`` are where it shows first."""

    check: str
    title: str
    rank: Rank
    message: str
    line: int
    text: str
    remedies: tuple[Remedy, ...]
    process: str = ""
    values: dict[str, str] = {}
    """What the line names: sizes, ports, paths."""
    times: int = 1
    """How many lines show it."""
    processes: tuple[str, ...] = ()
    evidence: tuple[LogLine, ...] = ()
    """Further lines that show it, the first few."""
    on_target: OnTarget | None = None


class Why(Struct, frozen=True):
    """The whole of one reading."""

    schema: str
    tool_version: str
    log: str
    """Path of the log, or :data:`STANDARD_INPUT`."""
    verdict: Verdict
    known: bool
    """Whether a cause is named."""
    causes: tuple[Cause, ...]
    """First cause first; what another one explains comes after it."""
    limits: tuple[Cause, ...]
    """No faults: where the server does less than was asked of it, or soon will. They make no log a wrong one."""
    wrappers: tuple[LogLine, ...]
    """Lines that only say that something else failed."""
    suspects: tuple[LogLine, ...]
    """Lines that look most like a cause and are not known."""
    versions: tuple[SeenVersion, ...]
    command: str
    """The command line that the log tells, secrets replaced, or empty."""
    arguments: dict[str, str]
    """What the server says it was asked for, the few that matter to a failure."""
    lines: int
    bytes: int
    encoding: str = ""
    """``UTF-16`` or ``UTF-32`` where the log was read as that; empty = UTF-8."""
    incomplete: str = ""
    """Why the log is not whole, as a sentence without its full stop, or empty."""
    unreadable: str = ""
    """Why nothing can be said of this log, as a sentence without its full stop; empty = it was read."""
    target: str = ""
    """One sentence: which target was judged beside the log; empty where none was named."""
    issue: str = ""
    """A text to ask others with; empty where a cause is named, and where the log does not hold the error."""
    stopped: Cause | None = None
    """Where a start stood when the log ended that shows no error and did not become ready."""
    without_error: str = ""
    """Why a log that reports a failure names none, as a sentence without its full stop: the error is not in it."""

"""From what a log shows to what it means: causes in order, with message and remedy for the versions it tells."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import BinaryIO

from msgspec.structs import replace

from sm120kit.diagnosis.catalogue import Catalogue
from sm120kit.diagnosis.logs.belonging import NOT_A_LOG
from sm120kit.diagnosis.logs.issue import issue_text
from sm120kit.diagnosis.logs.known import known_lines
from sm120kit.diagnosis.logs.opening import encoding_of
from sm120kit.diagnosis.logs.reading import Extent
from sm120kit.diagnosis.logs.scan import Hit, Scan, has_weight, scan
from sm120kit.diagnosis.logs.suspects import ENOUGH
from sm120kit.diagnosis.logs.templates import filled
from sm120kit.diagnosis.logs.told import Told
from sm120kit.diagnosis.logs.types import SCHEMA, Cause, LogLine, OnTarget, SeenVersion, Verdict, Why
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.diagnosis.types import LogRemedy, Manual, Rank, Remedy
from sm120kit.diagnosis.versions import within
from sm120kit.text import copyable
from sm120kit.version import __version__

_MOST_SUSPECTS = 12

_READY = "ready"
"""Message of the stage at which a start has ended."""

_KILLED = ("memory.host-killed", "wrapper")
_SILENT = ("multigpu.rank-gone", "wrapper")
_ASK_NCCL = "With NCCL_DEBUG=WARN in the environment of the next start, NCCL writes what failed"
_AFTER_ITSELF = (
    "`Killed` in line {} is how SGLang ends its own processes then, and no sign that the machine's memory ran out"
)

_ARE_WORDS = frozenset({"flags"})
"""Values that are several words of a command line."""

_NAMES = ("Docker", "Python", "Triton", "Blackwell", "Hopper")
"""Names that are written as ordinary words are."""


def why(stream: BinaryIO, name: str, catalogue: Catalogue) -> Why:
    """Read a log to its end and say what it shows. ``name`` is what it is called in the answer.

    Raises:
        OSError: the log cannot be read.
        Sm120kitError: a signature of the catalogue cannot be used.
    """
    scanned = scan(stream, known_lines(catalogue))
    extent = scanned.extent
    causes = _ranked(scanned, "cause", "consequence") or _lone_wrappers(scanned)
    wrappers = tuple(hit.line for hit in scanned.hits.values() if hit.known.signature.rank == "wrapper")
    suspects = () if causes else _suspects(scanned)
    wrong = bool(wrappers) or scanned.unhandled or has_weight(scanned)
    stopped = None if causes or wrong else _stopped(scanned)
    verdict = _verdict(causes, stopped, wrong=wrong)
    read = Why(
        SCHEMA,
        __version__,
        name,
        verdict,
        known=bool(causes),
        causes=causes,
        limits=_ranked(scanned, "limit"),
        wrappers=wrappers,
        suspects=suspects if verdict == "not-known" else (),
        versions=scanned.told.versions,
        command=scanned.told.command,
        arguments=scanned.told.arguments,
        lines=extent.lines,
        bytes=extent.bytes,
        incomplete=extent.incomplete,
        encoding=encoding_of(stream),
        unreadable=_unreadable(extent, scanned) if verdict == "nothing-wrong" else "",
        stopped=stopped,
    )
    if verdict != "not-known":
        return read
    return replace(read, issue=issue_text(read)) if suspects else replace(read, without_error=_without_error(scanned))


def _stopped(scanned: Scan) -> Cause | None:
    """How far a start came that did not end. Of the nodes of a server only the first one says that it is ready."""
    stage = scanned.stage
    if stage is None or stage.known.signature.message == _READY or stage.line.line < scanned.extent.served:
        return None
    if scanned.told.arguments.get("node_rank", "0") != "0":
        return None
    return replace(_cause(stage, scanned.told), times=1, processes=())


def _without_error(scanned: Scan) -> str:
    if not any(hit.known.signature.rank == "wrapper" for hit in scanned.hits.values()):
        return "A traceback stands in this log, and the line that tells its error does not"
    said = (
        "This log only reports that something failed: the error itself stands in the log of another process, or where "
        "this one was cut off"
    )
    killed = scanned.hits.get(_KILLED)
    if _SILENT in scanned.hits:
        said = f"{said}. {_ASK_NCCL}"
    return f"{said}. {_AFTER_ITSELF.format(killed.line.line)}" if killed else said


def _unreadable(extent: Extent, scanned: Scan) -> str:
    """Why a log without a fault must not be called a good one."""
    if extent.broken:
        return f"{extent.incomplete}, and what could be read of it shows no fault"
    if not extent.text:
        return "it holds no text"
    return "" if extent.log or scanned.hits or scanned.told.versions else NOT_A_LOG


def _lone_wrappers(scanned: Scan) -> tuple[Cause, ...]:
    """What a line that only reports an end may mean where it says so itself, and nothing else in the log failed.

    An end that stands behind another report follows from that one.
    """
    if has_weight(scanned):
        return ()
    reported = [hit for hit in scanned.hits.values() if hit.known.signature.rank == "wrapper"]
    first = min((hit.line.line for hit in reported if not hit.known.signature.message), default=None)
    meant = {
        key: hit
        for key, hit in scanned.hits.items()
        if hit.known.signature.message and (first is None or hit.line.line < first)
    }
    return tuple(replace(each, rank="consequence") for each in _ranked(Scan(meant, told=scanned.told), "wrapper"))


def with_target(read: Why, target: str, answers: Mapping[str, OnTarget]) -> Why:
    """The same with what the checks say about a target, by check id. ``target`` is a sentence that names it.

    A finding knows more than a line of a log: where there is one, its remedies take the place of the log's.
    """
    return replace(
        read,
        target=target,
        causes=tuple(_answered(cause, answers.get(cause.check)) for cause in read.causes),
        limits=tuple(_answered(limit, answers.get(limit.check)) for limit in read.limits),
    )


def _answered(cause: Cause, answer: OnTarget | None) -> Cause:
    better: list[Remedy] = []
    for finding in answer.findings if answer else ():
        better += [remedy for remedy in finding.remedies if remedy not in better]
    return replace(cause, on_target=answer, remedies=tuple(better) or cause.remedies)


def _verdict(causes: tuple[Cause, ...], stopped: Cause | None, *, wrong: bool) -> Verdict:
    if causes:
        return "known"
    if stopped:
        return "not-ready"
    return "not-known" if wrong else "nothing-wrong"


def _ranked(scanned: Scan, *ranks: Rank) -> tuple[Cause, ...]:
    """What shows at these ranks, one for each check: in the order of the ranks, within one by the first line."""
    hits = [hit for hit in scanned.hits.values() if hit.known.signature.rank in ranks]
    hits.sort(key=lambda hit: (ranks.index(hit.known.signature.rank), hit.line.line))
    first: dict[str, Cause] = {}
    for hit in hits:
        first.setdefault(hit.known.check_id, _cause(hit, scanned.told))
    return tuple(first.values())


def _cause(hit: Hit, told: Told) -> Cause:
    signature, owner = hit.known.signature, hit.known.owner
    values = {**_told_beside(told), **hit.values}
    return Cause(
        check=owner.id,
        title=owner.title,
        rank=signature.rank,
        message=begun_small(filled(signature.message, values) or owner.title),
        line=hit.line.line,
        text=hit.line.text,
        remedies=_remedies(owner, signature.remedies, values, told),
        process=hit.line.process,
        values=hit.values,
        times=hit.times,
        processes=tuple(hit.processes),
        evidence=tuple(hit.evidence),
    )


def _told_beside(told: Told) -> dict[str, str]:
    """What a template may name beside the groups of its pattern: settings of the server, and ``sglang_version``."""
    versions = {
        f"{seen.package.replace('-', '_')}_version": seen.version.partition("+")[0]
        for seen in told.versions
        if seen.exact
    }
    return {**told.arguments, **versions}


def begun_small(text: str) -> str:
    """A sentence or title as what was found, which stands behind a label: it begins small, unless with a name."""
    word = re.match(r"[A-Z](?:[a-z]+)?(?![\w.])", text)
    return text[:1].lower() + text[1:] if word and word[0] not in _NAMES else text


def _suspects(scanned: Scan) -> tuple[LogLine, ...]:
    """The heaviest lines, among equals the first, in the order of the log; light ones where there are no others."""
    chosen: list[LogLine] = []
    for heavy in sorted(scanned.suspects, reverse=True):
        if heavy >= ENOUGH or not chosen:
            chosen += scanned.suspects[heavy]
    return tuple(sorted(chosen[:_MOST_SUSPECTS], key=lambda line: line.line))


def _remedies(
    owner: Check | LogFailure, remedies: Iterable[LogRemedy], values: Mapping[str, str], told: Told
) -> tuple[Remedy, ...]:
    fitting = [made for remedy in remedies if (made := _manual(remedy, values, told)) is not None]
    if fitting:
        return tuple(fitting)
    section = re.search(r"^## Remedy$(.*?)(?=^## |\Z)", owner.page, re.MULTILINE | re.DOTALL)
    text = " ".join(section[1].split()) if section else ""
    return (Manual(text),) if text else ()


def _manual(remedy: LogRemedy, values: Mapping[str, str], told: Told) -> Manual | None:
    """The remedy in words, or ``None`` where the log tells a version that it is not for, or not what it names."""
    text = filled(remedy.text, values)
    quoted = {name: shlex.join(value.split() if name in _ARE_WORDS else [value]) for name, value in values.items()}
    commands = [filled(command, quoted) for command in remedy.commands]
    if text is None or None in commands:
        return None
    seen = told.version_of(remedy.package) if remedy.package else None
    if seen and not within(seen.version, remedy.first, remedy.last):
        return None
    if remedy.package and (seen is None or not seen.exact):
        text = f"{_range(remedy)}: {text}{_form(seen)}"
    return Manual(text, tuple(copyable(command) for command in commands if command))


def _range(remedy: LogRemedy) -> str:
    if remedy.first and remedy.last:
        return f"{remedy.package} {remedy.first} to {remedy.last}"
    if remedy.first:
        return f"{remedy.package} {remedy.first} and later"
    return f"{remedy.package} up to {remedy.last}" if remedy.last else remedy.package


def _form(seen: SeenVersion | None) -> str:
    return f" (line {seen.line} has the form that {seen.package} {seen.version} gives it)" if seen else ""

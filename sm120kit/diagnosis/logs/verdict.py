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
from sm120kit.diagnosis.logs.told import Told
from sm120kit.diagnosis.logs.types import SCHEMA, Cause, LogLine, OnTarget, SeenVersion, Verdict, Why
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.diagnosis.types import LogRemedy, Manual, Rank, Remedy
from sm120kit.diagnosis.versions import within
from sm120kit.text import copyable
from sm120kit.version import __version__

_MOST_SUSPECTS = 12

_NAMES = ("Python", "Triton", "Blackwell", "Hopper")
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
    verdict = _verdict(causes, wrong=bool(wrappers) or has_weight(scanned))
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
    )
    return replace(read, issue=issue_text(read)) if verdict == "not-known" else read


def _unreadable(extent: Extent, scanned: Scan) -> str:
    """Why a log without a fault must not be called a good one."""
    if extent.broken:
        return f"{extent.incomplete}, and what could be read of it shows no fault"
    if not extent.text:
        return "it holds no text"
    return "" if extent.log or scanned.hits or scanned.told.versions else NOT_A_LOG


def _lone_wrappers(scanned: Scan) -> tuple[Cause, ...]:
    """What a line that only reports an end may mean where it says so itself, and nothing else in the log failed."""
    if has_weight(scanned):
        return ()
    meant = {key: hit for key, hit in scanned.hits.items() if hit.known.signature.message}
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


def _verdict(causes: tuple[Cause, ...], *, wrong: bool) -> Verdict:
    if causes:
        return "known"
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
    return Cause(
        check=owner.id,
        title=owner.title,
        rank=signature.rank,
        message=begun_small(_filled(signature.message or owner.title, hit.values)),
        line=hit.line.line,
        text=hit.line.text,
        remedies=_remedies(owner, signature.remedies, hit.values, told),
        process=hit.line.process,
        values=hit.values,
        times=hit.times,
        processes=tuple(hit.processes),
        evidence=tuple(hit.evidence),
    )


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
    """The remedy in words, or ``None`` where the log tells a version that it is not for."""
    text = _filled(remedy.text, values)
    seen = told.version_of(remedy.package) if remedy.package else None
    if seen and not within(seen.version, remedy.first, remedy.last):
        return None
    if remedy.package and (seen is None or not seen.exact):
        text = f"{_range(remedy)}: {text}{_form(seen)}"
    quoted = {name: shlex.quote(value) for name, value in values.items()}
    return Manual(text, tuple(copyable(_filled(command, quoted)) for command in remedy.commands))


def _range(remedy: LogRemedy) -> str:
    if remedy.first and remedy.last:
        return f"{remedy.package} {remedy.first} to {remedy.last}"
    if remedy.first:
        return f"{remedy.package} {remedy.first} and later"
    return f"{remedy.package} up to {remedy.last}" if remedy.last else remedy.package


def _form(seen: SeenVersion | None) -> str:
    return f" (line {seen.line} has the form that {seen.package} {seen.version} gives it)" if seen else ""


class _Values(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "?"


def _filled(template: str, values: Mapping[str, str]) -> str:
    """``template`` with the values in it, as it stands where its braces are no names."""
    try:
        return template.format_map(_Values(values))
    except (ValueError, IndexError, AttributeError):
        return template

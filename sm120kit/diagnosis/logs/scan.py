"""One pass over a log: where known failures show, which lines look like unknown ones, and what else it tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from msgspec import structs

from sm120kit.diagnosis.logs import told
from sm120kit.diagnosis.logs.cleaning import Clean, clean, shown
from sm120kit.diagnosis.logs.kinds import Kinds
from sm120kit.diagnosis.logs.known import KnownLine, Meaning, Sieve
from sm120kit.diagnosis.logs.reading import Extent, read_lines
from sm120kit.diagnosis.logs.suspects import (
    ENOUGH,
    HARMLESS,
    REQUEST,
    REQUEST_WORDS,
    UNHANDLED,
    is_exception,
    weight,
)
from sm120kit.diagnosis.logs.types import LogLine
from sm120kit.redaction import redacted

_MOST_TEXTS = 50_000
_MOST_SUSPECTS = 40
"""Lines kept of each weight."""
_MOST_EVIDENCE = 5
_MOST_PROCESSES = 16

_PIECE = 64 << 10
"""Bytes. A longer line is looked at in pieces that overlap."""
_OVERLAP = 2 << 10
_HEAD = 2 << 10
_MOST_TROUBLED = 5_000
"""Lines of new shapes that are looked at although no signature may be in them. The first ones tell most: of later
ones, those with a word for trouble that none of them had."""
_MOST_TELLING = 5_000
"""Lines of new shapes that are looked at for versions and arguments: of each the first counts."""
_MOST_TROUBLES = 100_000


@dataclass
class Hit:
    """One known failure, at the first line that shows it."""

    known: KnownLine
    line: LogLine
    values: dict[str, str]
    times: int = 1
    processes: list[str] = field(default_factory=list)
    evidence: list[LogLine] = field(default_factory=list)


@dataclass
class Scan:
    """What one pass found."""

    hits: dict[tuple[str, str], Hit] = field(default_factory=dict)
    """By check and rank, in the order in which they showed first."""
    suspects: dict[int, list[LogLine]] = field(default_factory=dict)
    """By weight, as `suspects.weight` gives it."""
    unhandled: bool = False
    """Whether a traceback stands in it."""
    stage: Hit | None = None
    """The last line that tells how far a start has come."""
    told: told.Told = field(default_factory=told.Told)
    extent: Extent = field(default_factory=lambda: Extent(0, 0, ""))


def scan(stream: BinaryIO, known: Sequence[KnownLine]) -> Scan:
    """Read a log to its end.

    Raises:
        OSError: it cannot be read.
    """
    scanner = _Scanner(known)
    extent = read_lines(stream, scanner.kinds.choose, scanner.sift, scanner.look)
    scanner.found.extent = extent
    return scanner.found


class _Scanner:
    def __init__(self, known: Sequence[KnownLine]) -> None:
        self.found = Scan()
        self.kinds = Kinds([each.signature.pattern for each in known], told.WORDS)
        self._sieve = Sieve(known, told.WORDS)
        self._request = 0
        """Number of the last line that was seen to log a request."""
        self._texts: dict[int, tuple[Hit, ...]] = {}
        """Texts that were classified already, by their hash, and what they showed."""
        self._telling = 0
        """Lines that were looked at for versions and arguments alone, or for trouble as well."""
        self._troubled = 0
        """Lines that were looked at for trouble alone."""
        self._troubles: set[bytes] = set()
        """The words for trouble in them."""

    def sift(self, text: bytes) -> bool:
        """Whether some of these lines may matter."""
        meaning = self._sieve.sift(text)
        return meaning is not None and (
            self._troubled < _MOST_TROUBLED
            or bool(meaning.known)
            or (meaning.tells and self._telling < _MOST_TELLING)
            or not meaning.trouble <= self._troubles
        )

    def look(self, number: int, line: bytes, shape: bytes) -> bool:
        """Take in one line; whether other lines of its shape may tell more."""
        if number == self._request:
            return True
        if len(line) > _PIECE:
            self._look_at_long(number, line)
            return True
        meaning = self._sieve.sift(shape)
        if meaning is None or not self._is_worth_it(meaning):
            return False
        if _logs_request(line):
            self._request = number
            return True
        for text in clean(line):
            self._take(number, text, meaning)
        return bool(meaning.known) or (meaning.tells and self._telling < _MOST_TELLING)

    def _look_at_long(self, number: int, line: bytes) -> None:
        if _logs_request(line):
            self._request = number
            return
        for piece in _pieces(line):
            meaning = self._sieve.sift(piece)
            if meaning is not None and self._is_worth_it(meaning):
                for text in clean(piece):
                    self._take(number, text, meaning)

    def _is_worth_it(self, meaning: Meaning) -> bool:
        """Whether a line may show more than trouble of a kind that was seen often."""
        if meaning.known:
            return True
        if meaning.tells and self._telling < _MOST_TELLING:
            self._telling += 1
            return True
        self._troubled += 1
        if self._troubled > _MOST_TROUBLED and meaning.trouble <= self._troubles:
            return False
        if len(self._troubles) < _MOST_TROUBLES:
            self._troubles |= meaning.trouble
        return True

    def _take(self, number: int, line: Clean, meaning: Meaning) -> None:
        key = hash(line.text)
        if key not in self._texts:
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            self._texts[key] = self._classify(number, line, meaning)
        else:
            for hit in self._texts[key]:
                hit.times += 1
                _add_process(hit, line.process)
                if hit.known.signature.rank == "stage":
                    self.found.stage = replace(hit, line=structs.replace(hit.line, line=number, process=line.process))

    def _classify(self, number: int, line: Clean, meaning: Meaning) -> tuple[Hit, ...]:
        if meaning.tells:
            self.found.told.read(number, line.text)
            if "server_args=" in line.text:
                return ()
        if HARMLESS.match(line.text):
            return ()
        hits = self._known_in(number, line, meaning.known)
        if meaning.trouble and (not hits or _ends_what_it_limits(hits, line.text)):
            self._suspect(number, line)
        return hits

    def _suspect(self, number: int, line: Clean) -> None:
        if line.text.startswith(UNHANDLED):
            self.found.unhandled = True
        heavy = weight(line)
        kept = self.found.suspects.setdefault(heavy, []) if heavy else []
        if heavy and len(kept) < _MOST_SUSPECTS:
            kept.append(LogLine(number, shown(line.text), line.process))

    def _known_in(self, number: int, line: Clean, known: Sequence[KnownLine]) -> tuple[Hit, ...]:
        """What the line shows: all that it names, since a wrapper may hold its cause."""
        hits: list[Hit] = []
        for each in known:
            match = each.pattern.search(line.text)
            if match is None:
                continue
            hit = self._record(each, match, number, line)
            if hit not in hits:
                hits.append(hit)
        return tuple(hits)

    def _record(self, known: KnownLine, match: re.Match[str], number: int, line: Clean) -> Hit:
        seen = LogLine(number, shown(line.text, match.start()), line.process)
        if known.signature.rank == "stage":
            self.found.stage = Hit(known, seen, {})
            return self.found.stage
        key = (known.check_id, known.signature.rank)
        hit = self.found.hits.get(key)
        if hit is None:
            # What stands before a secret tells that it is one: values are taken from the line without secrets.
            safe = known.pattern.search(redacted(line.text)) or match
            values = {name: shown(value) for name, value in safe.groupdict().items() if value is not None}
            hit = self.found.hits[key] = Hit(known, seen, values)
        elif hit.line.line != number:
            hit.times += 1
            if len(hit.evidence) < _MOST_EVIDENCE:
                hit.evidence.append(seen)
        _add_process(hit, line.process)
        return hit


def _logs_request(line: bytes) -> bool:
    return any(word in line for word in REQUEST_WORDS) and any(REQUEST.match(text.text) for text in clean(line[:_HEAD]))


def _pieces(line: bytes) -> Iterator[bytes]:
    """A long line in pieces that can be looked at one by one."""
    for start in range(0, len(line) - _OVERLAP, _PIECE - _OVERLAP):
        yield line[start : start + _PIECE]


def _add_process(hit: Hit, process: str) -> None:
    if process and process not in hit.processes and len(hit.processes) < _MOST_PROCESSES:
        hit.processes.append(process)


def _ends_what_it_limits(hits: Sequence[Hit], text: str) -> bool:
    """Whether the words of a mere limit are those of an exception: then it was none for this server."""
    return all(hit.known.signature.rank == "limit" for hit in hits) and is_exception(text)


def has_weight(scanned: Scan) -> bool:
    """Whether lines that no signature knows mean that something went wrong."""
    return any(heavy >= ENOUGH for heavy in scanned.suspects)

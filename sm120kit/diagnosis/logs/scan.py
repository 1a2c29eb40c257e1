"""One pass over a log: where known failures show, which lines look like unknown ones, and what else it tells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from sm120kit.diagnosis.logs import told
from sm120kit.diagnosis.logs.cleaning import Clean, clean, shown
from sm120kit.diagnosis.logs.known import KnownLine, prefilter
from sm120kit.diagnosis.logs.reading import Extent, read_lines
from sm120kit.diagnosis.logs.suspects import ENOUGH, HARMLESS, weight
from sm120kit.diagnosis.logs.types import LogLine

_MOST_TEXTS = 50_000
_MOST_SUSPECTS = 40
"""Lines kept of each weight."""
_MOST_EVIDENCE = 5
_MOST_PROCESSES = 16

_COLOURS = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")


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
    told: told.Told = field(default_factory=told.Told)
    extent: Extent = field(default_factory=lambda: Extent(0, 0, ""))


def scan(stream: BinaryIO, known: Sequence[KnownLine]) -> Scan:
    """Read a log to its end.

    Raises:
        OSError: it cannot be read.
    """
    scanner = _Scanner(known)
    extent = read_lines(stream, scanner.look)
    scanner.found.extent = extent
    return scanner.found


class _Scanner:
    def __init__(self, known: Sequence[KnownLine]) -> None:
        self.found = Scan()
        self._known = known
        self._prefilter = prefilter(known, told.WORDS)
        self._texts: dict[int, tuple[Hit, ...]] = {}
        """Texts that were classified already, by their hash, and what they showed."""

    def look(self, number: int, line: bytes, shape: bytes) -> bool:
        """Take in one line; whether lines of this shape may matter."""
        if b"\x1b" in shape:
            shape = _COLOURS.sub(b"", shape)
        if self._prefilter is not None and not self._prefilter.search(shape):
            return False
        for text in clean(line):
            self._take(number, text)
        return True

    def _take(self, number: int, line: Clean) -> None:
        key = hash(line.text)
        if key not in self._texts:
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            self._texts[key] = self._classify(number, line)
        else:
            for hit in self._texts[key]:
                hit.times += 1
                _add_process(hit, line.process)

    def _classify(self, number: int, line: Clean) -> tuple[Hit, ...]:
        self.found.told.read(number, line.text)
        if HARMLESS.search(line.text) or "server_args=" in line.text:
            return ()
        hits = self._known_in(number, line)
        heavy = weight(line)
        if not hits and heavy:
            kept = self.found.suspects.setdefault(heavy, [])
            if len(kept) < _MOST_SUSPECTS:
                kept.append(LogLine(number, shown(line.text), line.process))
        return hits

    def _known_in(self, number: int, line: Clean) -> tuple[Hit, ...]:
        """What the line shows: every cause that it names, and of wrappers one."""
        hits: list[Hit] = []
        for known in self._known:
            match = known.match(line.text)
            if match is None:
                continue
            hit = self._record(known, match, number, line)
            if hit not in hits:
                hits.append(hit)
        return tuple(hits)

    def _record(self, known: KnownLine, match: re.Match[str], number: int, line: Clean) -> Hit:
        seen = LogLine(number, shown(line.text, match.start()), line.process)
        key = (known.check_id, known.signature.rank)
        hit = self.found.hits.get(key)
        if hit is None:
            values = {name: shown(value) for name, value in match.groupdict().items() if value is not None}
            hit = self.found.hits[key] = Hit(known, seen, values)
        elif hit.line.line != number:
            hit.times += 1
            if len(hit.evidence) < _MOST_EVIDENCE:
                hit.evidence.append(seen)
        _add_process(hit, line.process)
        return hit


def _add_process(hit: Hit, process: str) -> None:
    if process and process not in hit.processes and len(hit.processes) < _MOST_PROCESSES:
        hit.processes.append(process)


def has_weight(scanned: Scan) -> bool:
    """Whether lines that no signature knows mean that something went wrong."""
    return any(heavy >= ENOUGH for heavy in scanned.suspects)

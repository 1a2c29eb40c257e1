"""Whether a text may hold what a signature asks for: a look for fixed texts, so that its pattern is seldom tried."""

from __future__ import annotations

import re

from sm120kit.diagnosis.logs.literals import required_runs

_PLAIN = re.compile(r"[A-Za-z ()*+,.:;=?@\[\]^_`{|}~!#$%-]+")
"""Characters that stand in a log as a server wrote them, also where a line of it was packed into JSON."""

_IGNORES_CASE = re.compile(r"\(\?[a-zA-Z]*i")


class Asked:
    """What a pattern asks of the texts that it matches.

    ``without``: characters that the texts have lost, and that therefore are not asked for.
    """

    def __init__(self, pattern: str, without: bytes) -> None:
        self._without = without
        self._ignores_case = _IGNORES_CASE.search(pattern) is not None
        small = str.lower if self._ignores_case else str
        self._demands = [
            [self._parts([small(run) for run in runs]) for runs in demand] for demand in required_runs(pattern)
        ]

    def _parts(self, runs: list[str]) -> list[bytes]:
        """The longest first: it is the one that most texts lack."""
        parts = [part.encode().translate(None, self._without) for run in runs for part in _PLAIN.findall(run)]
        return sorted(parts, key=len, reverse=True)

    def may_match(self, text: bytes) -> bool:
        """Whether the pattern may match in ``text``, which has lost those characters. False is certain."""
        if self._ignores_case:
            text = text.lower().translate(None, self._without)
        return all(any(all(part in text for part in parts) for parts in demand) for demand in self._demands)

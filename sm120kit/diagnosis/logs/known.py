"""The signatures of a catalogue, ready to be looked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sm120kit.diagnosis.catalogue import Catalogue
from sm120kit.diagnosis.logs.literals import required_words
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.diagnosis.types import Signature
from sm120kit.errors import Sm120kitError

TROUBLE = (
    "rror", "xception", "atal", "ailed", "ailure", "annot", "raceback", "bort", "illed", "ot found", "o such",
    "nsupported", "ot supported", "efused", "enied", "imed out", "imeout", "rashed", "undefined", "out of memory",
    "egmentation", "core dumped", "terminate called", "IGQUIT", "igquit",
)  # fmt: skip
"""Words, without their first letter where it may be a capital, that lines about a fault hold. Lines without one of
these, and without a word that a signature demands, are never looked at."""


@dataclass(frozen=True)
class KnownLine:
    """One signature with the check, or the failure, whose file holds it."""

    owner: Check | LogFailure
    signature: Signature
    pattern: re.Pattern[str]
    words: frozenset[str]
    """One of these stands in every line that matches; empty = not known, every line may."""

    @property
    def check_id(self) -> str:
        """Id of the check or failure."""
        return self.owner.id

    def match(self, text: str) -> re.Match[str] | None:
        """Where the line shows it."""
        if self.words and not any(word in text for word in self.words):
            return None
        return self.pattern.search(text)


def known_lines(catalogue: Catalogue) -> tuple[KnownLine, ...]:
    """All signatures, causes before what follows from them and wrappers.

    Raises:
        Sm120kitError: the pattern of a signature is no regular expression; the message names its file.
    """
    order = {"cause": 0, "consequence": 1, "limit": 2, "wrapper": 3}
    found = [_compiled(owner, signature) for owner in catalogue.entries.values() for signature in owner.signatures]
    return tuple(sorted(found, key=lambda known: order[known.signature.rank]))


def _compiled(owner: Check | LogFailure, signature: Signature) -> KnownLine:
    try:
        pattern = re.compile(signature.pattern)
    except re.error as error:
        raise Sm120kitError(
            f"a signature in {owner.path} is no regular expression: {error} in {signature.pattern!r}",
            hint="Mend it, or leave its folder out of --checks-dir",
        ) from error
    return KnownLine(owner, signature, pattern, required_words(signature.pattern) or frozenset())


def prefilter(known: Iterable[KnownLine], others: Sequence[str]) -> re.Pattern[bytes] | None:
    """What every line holds that may matter: a word of trouble, of a signature, or of ``others``.

    ``None`` where a signature demands no word, so that every line has to be looked at.
    """
    signatures = list(known)
    if not all(each.words for each in signatures):
        return None
    words = dict.fromkeys([*TROUBLE, *others])
    words.update(dict.fromkeys(_uncovered(signatures, tuple(words))))
    return re.compile(b"|".join(re.escape(word.encode()) for word in words))


def _uncovered(signatures: Iterable[KnownLine], words: Sequence[str]) -> Iterator[str]:
    for each in signatures:
        yield from sorted(word for word in each.words if not any(common in word for common in words))

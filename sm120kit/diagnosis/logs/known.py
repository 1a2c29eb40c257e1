"""The signatures of a catalogue, ready to be looked for, and the sieve that says which of them a line may show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sm120kit.diagnosis.catalogue import Catalogue
from sm120kit.diagnosis.logs.asked import Asked
from sm120kit.diagnosis.logs.cleaning import NUMBERS, without_numbers
from sm120kit.diagnosis.logs.literals import SHORTEST, required_words
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.diagnosis.types import Signature
from sm120kit.errors import Sm120kitError

_TROUBLE = (
    "error", "exception", "fatal", "fail", "cannot", "unable", "traceback", "abort", "killed", "unsupported", "refused",
    "denied", "timeout", "timed", "crash", "undefined", "segmentation", "dumped", "terminate", "sigquit", "missing",
    "critical", "named", "daemon", "errno",
)  # fmt: skip
"""Words, or parts of them, that lines about a fault hold."""

_ORDER = {"cause": 0, "consequence": 1, "limit": 2, "stage": 3, "wrapper": 4}

_SMALL_LETTERS = bytes(
    byte + 32 if 0x41 <= byte <= 0x5A else byte if 0x61 <= byte <= 0x7A else 0x20 for byte in range(256)
)
"""Makes letters small and everything else a space."""

_MOST_WORDS = 100_000
_LONGEST_WORD = 128
"""Letters. Of a longer run only this many at both ends are looked at: that is no word, but one may be glued to it."""
_MOST_LINES = 10_000
_LONGEST_LINE = 2_000
"""Bytes of a line whose meaning is remembered."""

_AT_ONCE = 64 << 10
"""Bytes whose words are made at once: what has to be made stays in the processor's caches."""

_HEXADECIMAL = b"abcdef"


@dataclass(frozen=True, eq=False)
class KnownLine:
    """One signature with the check, or the failure, whose file holds it."""

    owner: Check | LogFailure
    signature: Signature
    pattern: re.Pattern[str]
    asked: Asked
    """What the pattern asks of lines without digits."""

    @property
    def check_id(self) -> str:
        """Id of the check or failure."""
        return self.owner.id


def known_lines(catalogue: Catalogue) -> tuple[KnownLine, ...]:
    """All signatures, causes before what follows from them and wrappers.

    Raises:
        Sm120kitError: the pattern of a signature is no regular expression; the message names its file.
    """
    found = [_compiled(owner, signature) for owner in catalogue.entries.values() for signature in owner.signatures]
    return tuple(sorted(found, key=lambda known: _ORDER[known.signature.rank]))


def _compiled(owner: Check | LogFailure, signature: Signature) -> KnownLine:
    try:
        pattern = re.compile(signature.pattern)
        return KnownLine(owner, signature, pattern, Asked(signature.pattern, NUMBERS))
    except re.error as error:
        raise Sm120kitError(
            f"a signature in {owner.path} is no regular expression: {error} in {signature.pattern!r}",
            hint="Mend it, or leave its folder out of --checks-dir",
        ) from error


@dataclass(frozen=True)
class Meaning:
    """What the words of a line may mean: signatures to try, words for trouble, and whether it may tell of versions."""

    known: tuple[KnownLine, ...] = ()
    trouble: frozenset[bytes] = frozenset()
    tells: bool = False


class _Part(NamedTuple):
    """What a word means that holds this part, where ``others`` stand in the same text."""

    text: bytes
    others: tuple[bytes, ...] = ()
    signature: int = -1
    trouble: bool = False
    tells: bool = False


class Sieve:
    """Says what a line may mean from the words in it alone, so that most lines are not looked at any further.

    A word is a run of letters. Each new one is compared once with what signatures demand, and remembered. ``telling``
    are words, or parts of them, of lines that tell versions; at least four letters, as all parts have.
    """

    def __init__(self, known: Sequence[KnownLine], telling: Iterable[str]) -> None:
        self._known = known
        self._always: list[int] = []
        self._parts: dict[bytes, list[_Part]] = {}
        """By their first four letters."""
        self._meant: dict[bytes, tuple[_Part, ...]] = {}
        self._meaningless: set[bytes] = set()
        for number, each in enumerate(known):
            words = required_words(each.signature.pattern)
            self._always += [] if words else [number]
            for word, *others in words:
                self._add(_Part(word.encode(), tuple(other.encode() for other in others), signature=number))
        for word in _TROUBLE:
            self._add(_Part(word.encode(), trouble=True))
        for word in telling:
            self._add(_Part(word.encode(), tells=True))
        demanded = [word for parts in self._parts.values() for part in parts for word in (part.text, *part.others)]
        self._ignored = b"" if any(not word.strip(_HEXADECIMAL) for word in demanded) else _HEXADECIMAL
        """Letters of which words are made that mean nothing: pieces of hexadecimal numbers are most of what is new in a
        log."""
        self._lines: dict[frozenset[bytes], Meaning | None] = {}
        """What lines of these words mean."""

    def sift(self, text: bytes) -> Meaning | None:
        """What ``text``, a line or many, may mean; ``None`` = nothing."""
        letters = text.translate(_SMALL_LETTERS)
        if len(text) > _LONGEST_LINE:
            meaning = self._meaning(self._words_worth_it(letters), letters)
        else:
            words = set(letters.split())
            line = frozenset(word for word in words if word.strip(self._ignored))
            if line not in self._lines:
                if len(self._lines) >= _MOST_LINES:
                    self._lines.clear()
                self._lines[line] = self._meaning(words.difference(self._meaningless), letters)
            meaning = self._lines[line]
        return self._without_what_cannot_match(meaning, text) if meaning and meaning.known else meaning

    def _without_what_cannot_match(self, meaning: Meaning, text: bytes) -> Meaning | None:
        plain = without_numbers(text)
        known = tuple(each for each in meaning.known if each.asked.may_match(plain))
        if not known and not meaning.trouble and not meaning.tells:
            return None
        return Meaning(known, meaning.trouble, meaning.tells)

    def _words_worth_it(self, letters: bytes) -> set[bytes]:
        """The words in it but those that are known to mean nothing."""
        words: set[bytes] = set()
        start = 0
        while start < len(letters):
            end = letters.find(b" ", start + _AT_ONCE) if start + _AT_ONCE < len(letters) else -1
            end = len(letters) if end < 0 else end
            words |= set(letters[start:end].split()).difference(self._meaningless)
            start = end
        return words

    def _meaning(self, words: set[bytes], letters: bytes) -> Meaning | None:
        if len(self._meaningless) + len(self._meant) > _MOST_WORDS:
            self._meaningless.clear()
            self._meant.clear()
        self._learn(words.difference(self._meant))
        found = [
            (word, part)
            for word in words.intersection(self._meant)
            for part in self._meant[word]
            if all(other in letters for other in part.others)
        ]
        if not found and not self._always:
            return None
        numbers = {part.signature for _, part in found if part.signature >= 0}.union(self._always)
        return Meaning(
            tuple(self._known[number] for number in sorted(numbers)),
            frozenset(word for word, part in found if part.trouble),
            any(part.tells for _, part in found),
        )

    def _add(self, part: _Part) -> None:
        self._parts.setdefault(part.text[:SHORTEST], []).append(part)

    def _learn(self, words: Iterable[bytes]) -> None:
        for word in words:
            parts = tuple(self._parts_in(word)) if word.strip(self._ignored) else ()
            if parts:
                self._meant[word] = parts
            elif len(word) <= _LONGEST_WORD:
                self._meaningless.add(word)

    def _parts_in(self, word: bytes) -> Iterator[_Part]:
        if len(word) > 2 * _LONGEST_WORD:
            word = word[:_LONGEST_WORD] + b" " + word[-_LONGEST_WORD:]
        for place in range(len(word) - SHORTEST + 1):
            for part in self._parts.get(word[place : place + SHORTEST], ()):
                if word.startswith(part.text, place):
                    yield part

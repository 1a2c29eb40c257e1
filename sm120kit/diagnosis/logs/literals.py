"""Which words a line must hold for a pattern to match it: what makes reading gigabytes with many patterns cheap."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

_PARSER: Any = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
"""The parser of the standard library. It is not a public interface; where a release changes it so far that a pattern
cannot be read here, :func:`required_words` says that it does not know, and the pattern is tried on every line."""

_SPLIT = re.compile(r"[^ !#-/:-\[\]-~]+")
"""What a word is cut at: digits, which the reader drops; quotes and backslashes, which JSON writes otherwise; and
everything that is not printable ASCII."""

_SHORTEST = 4


def required_words(pattern: str) -> frozenset[str] | None:
    """Words of which every text that matches ``pattern`` holds at least one; ``None`` where none can be told.

    They hold no digits, quotes, backslashes or characters beyond ASCII, and at least four characters.
    """
    try:
        parsed = _PARSER.parse(pattern)
        return None if parsed.state.flags & re.IGNORECASE else _of_sequence(parsed)
    except (AttributeError, TypeError, ValueError, RecursionError):
        return None


def _of_sequence(items: Iterable[Any]) -> frozenset[str] | None:
    """The best of what the parts of a sequence demand: the words whose shortest is longest."""
    demands: list[frozenset[str]] = []
    run = ""
    for operation, value in items:
        if str(operation) == "LITERAL":
            run += chr(value)
            continue
        demands += _of_run(run)
        run = ""
        demanded = _of_item(str(operation), value)
        if demanded:
            demands.append(demanded)
    demands += _of_run(run)
    return max(demands, key=lambda words: min(map(len, words)), default=None)


def _of_run(run: str) -> list[frozenset[str]]:
    words = [word for word in _SPLIT.split(run) if len(word) >= _SHORTEST]
    return [frozenset({max(words, key=len)})] if words else []


def _of_item(operation: str, value: Any) -> frozenset[str] | None:
    if operation == "SUBPATTERN":
        added_flags, items = value[1], value[3]
        return None if added_flags & re.IGNORECASE else _of_sequence(items)
    if operation == "ATOMIC_GROUP":
        return _of_sequence(value)
    if operation in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, _, items = value
        return _of_sequence(items) if least else None
    if operation == "BRANCH":
        words: set[str] = set()
        for branch in value[1]:
            demanded = _of_sequence(branch)
            if demanded is None:
                return None
            words |= demanded
        return frozenset(words)
    return None

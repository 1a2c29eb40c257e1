"""What a line must hold for a pattern to match it: what makes reading gigabytes with many patterns cheap."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

_PARSER: Any = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
"""The parser of the standard library. It is not a public interface; where a release changes it so far that a pattern
cannot be read here, :func:`required_runs` says that it does not know, and the pattern is tried on every line."""

_LETTERS = re.compile(r"[a-z]+")

SHORTEST = 4
"""Letters of the shortest word that counts."""

_COMMON = frozenset(
    {
        "accept", "attention", "backend", "batch", "cache", "client", "command", "completions", "connect", "context",
        "cuda", "decode", "default", "device", "devices", "error", "exception", "failed", "false", "generate", "graph",
        "input", "kernel", "kernels", "layer", "length", "load", "loading", "main", "memory", "model", "models", "name",
        "number", "output", "params", "prefill", "process", "prompt", "python", "query", "queue", "rank", "request",
        "requests", "response", "runtime", "running", "runtimeerror", "seconds", "server", "size", "sampling", "state",
        "started", "system", "text", "throughput", "time", "token", "tokens", "true", "usage", "user", "value",
        "valueerror", "version", "weight", "weights",
    }
)  # fmt: skip
"""Words of healthy logs, or of any log with errors: what a pattern demands beside them tells more."""


Words = tuple[str, ...]
"""Words that all stand in a text, the most telling first."""

Runs = tuple[str, ...]
"""Texts that all stand in a text, just as a pattern writes them."""

Demand = frozenset[Runs]
"""Of these, one has to be met: all its runs stand in the text."""


@cache
def required_words(pattern: str) -> frozenset[Words]:
    """What every text that matches ``pattern`` holds, once its letters are made small: all words of one of these.

    Empty where nothing can be told.
    """
    return max(map(_words_of, required_runs(pattern)), key=_telling, default=frozenset())


@cache
def required_runs(pattern: str) -> tuple[Demand, ...]:
    """What every text that matches ``pattern`` meets: each of these demands. Small and large letters are those of the
    pattern, which may ignore the difference.

    Empty where nothing can be told.
    """
    try:
        return tuple(_of_sequence(_PARSER.parse(pattern)))
    except (AttributeError, TypeError, ValueError, RecursionError):
        return ()


def _of_sequence(items: Iterable[Any]) -> list[Demand]:
    """What the parts of a sequence demand, one after the other."""
    demands: list[Demand] = []
    run = ""
    for operation, value in items:
        if str(operation) == "LITERAL":
            run += chr(value)
            continue
        demands += [frozenset({(run,)})] if run else []
        run = ""
        demands += _of_item(str(operation), value)
    return demands + ([frozenset({(run,)})] if run else [])


def _of_item(operation: str, value: Any) -> list[Demand]:
    if operation == "SUBPATTERN":
        return _of_sequence(value[3])
    if operation == "ATOMIC_GROUP":
        return _of_sequence(value)
    if operation in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, _, items = value
        return _of_sequence(items) if least else []
    if operation == "BRANCH":
        branches = [_of_sequence(branch) for branch in value[1]]
        if all(branches):
            return [frozenset().union(*(max(branch, key=_strength) for branch in branches))]
    return []


def _strength(demand: Demand) -> tuple[tuple[int, int], int]:
    """How much a demand tells: by its words, where it asks for none by its length."""
    words = _words_of(demand)
    return _telling(words), 0 if words else min(sum(map(len, runs)) for runs in demand)


def _words_of(demand: Demand) -> frozenset[Words]:
    """The words that a demand asks for; empty where one of its alternatives asks for none."""
    several = {tuple(sorted(_words_in(runs), key=_weight, reverse=True)) for runs in demand}
    return frozenset(several) if all(several) else frozenset()


def _words_in(runs: Runs) -> dict[str, None]:
    return dict.fromkeys(word for run in runs for word in _LETTERS.findall(run.lower()) if len(word) >= SHORTEST)


def _telling(several: frozenset[Words]) -> tuple[int, int]:
    """That of the alternative which tells least."""
    return min(((_weight(words[0]), len(words)) for words in several), default=(-1, 0))


def _weight(word: str) -> int:
    return 0 if word in _COMMON else len(word)

"""Which words a line must hold for a pattern to match it: what makes reading gigabytes with many patterns cheap."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

_PARSER: Any = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
"""The parser of the standard library. It is not a public interface; where a release changes it so far that a pattern
cannot be read here, :func:`required_words` says that it does not know, and the pattern is tried on every line."""

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


@cache
def required_words(pattern: str) -> frozenset[Words]:
    """What every text that matches ``pattern`` holds, once its letters are made small: all words of one of these.

    Empty where nothing can be told.
    """
    try:
        return _of_sequence(_PARSER.parse(pattern))
    except (AttributeError, TypeError, ValueError, RecursionError):
        return frozenset()


def _of_sequence(items: Iterable[Any]) -> frozenset[Words]:
    """The best of what the parts of a sequence demand: those of which the least telling tells most."""
    demands: list[frozenset[Words]] = []
    run = ""
    for operation, value in items:
        if str(operation) == "LITERAL":
            run += chr(value).lower()
            continue
        demands += _of_run(run)
        run = ""
        demanded = _of_item(str(operation), value)
        if demanded:
            demands.append(demanded)
    demands += _of_run(run)
    return max(demands, key=lambda several: min(map(_telling, several)), default=frozenset())


def _of_run(run: str) -> list[frozenset[Words]]:
    words = dict.fromkeys(word for word in _LETTERS.findall(run) if len(word) >= SHORTEST)
    return [frozenset({tuple(sorted(words, key=_weight, reverse=True))})] if words else []


def _telling(words: Words) -> tuple[int, int]:
    return _weight(words[0]), len(words)


def _weight(word: str) -> int:
    return 0 if word in _COMMON else len(word)


def _of_item(operation: str, value: Any) -> frozenset[Words]:
    if operation == "SUBPATTERN":
        return _of_sequence(value[3])
    if operation == "ATOMIC_GROUP":
        return _of_sequence(value)
    if operation in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, _, items = value
        return _of_sequence(items) if least else frozenset()
    if operation == "BRANCH":
        branches = [_of_sequence(branch) for branch in value[1]]
        return frozenset().union(*branches) if all(branches) else frozenset()
    return frozenset()

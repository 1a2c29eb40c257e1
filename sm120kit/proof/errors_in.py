"""Finds the first true error line in what a compiler or linker printed, and the check that explains it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sm120kit.diagnosis.registry import Check

_TRUE_ERROR = re.compile(
    r"(fatal error|\berror\b ?:|#error|fatal\s*:|cannot find|unable to find|undefined (reference|symbol)"
    r"|: not found|No such file|Killed|cannot be started|did not answer)",
    re.IGNORECASE,
)
_WRAPPERS = re.compile(
    r"(collect2: error|ninja: build stopped|^FAILED:|Ninja build failed|ptx assembly aborted)", re.IGNORECASE
)


def first_error(output: str) -> str:
    """The first line that names a fault rather than its consequence; else the last line; else empty."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in lines:
        if _TRUE_ERROR.search(line) and not _WRAPPERS.search(line):
            return line
    return lines[-1] if lines else ""


def explaining_check(output: str, checks: Iterable[Check]) -> str:
    """Id of the check one of whose cause signatures matches the earliest line; empty where none does."""
    patterns = [
        (re.compile(signature.pattern), check.id)
        for check in checks
        for signature in check.signatures
        if signature.rank == "cause"
    ]
    for line in output.splitlines():
        for pattern, check_id in patterns:
            if pattern.search(line):
                return check_id
    return ""

"""Lines of a log that tell of a request that was answered: a server that works writes hardly anything else."""

from __future__ import annotations

from sm120kit.patterns import pattern

_LONGEST = 4096
_ANSWERED = pattern(r'INFO: {0,8}\S{1,80} - "[A-Z]{3,8} \S{1,2048} HTTP/\d(?:\.\d)?" 2\d\d ')
"""Uvicorn's, with the time that SGLang puts before it."""


def is_answered_request(line: bytes) -> bool:
    """Whether the line only says that a request was answered well; one that failed is worth reading."""
    if len(line) > _LONGEST or b" HTTP/" not in line:
        return False
    return _ANSWERED.search(line.decode("utf-8", "replace")) is not None

"""Package versions as values that compare as PEP 440 orders them, without its cost: for tables of dated facts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from sm120kit.patterns import pattern

_VERSION = pattern(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<pre_number>\d*))?"
    r"(?:(?:[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))|-(?P<post_short>\d+))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE,
)
_PRE = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_NO_PRE, _DEV_ONLY = 3, -1
_RELEASED = 1 << 60
"""In place of the number of a development release."""

VersionKey = tuple[int, tuple[int, ...], int, int, int, int]


@lru_cache(maxsize=1024)
def version_key(version: str) -> VersionKey | None:
    """What ``version`` sorts by; ``None`` where it is no version. Local parts (``+cu130``) do not count."""
    version = version.strip()
    public, dot, post = version.partition(".post")
    numbers = public.split(".")
    if all(map(str.isdecimal, [*numbers, post] if dot else numbers)):  # as most are: no pattern need be compiled
        return 0, _release(numbers), _NO_PRE, 0, int(post) if dot else -1, _RELEASED
    match = _VERSION.fullmatch(version)
    if not match:
        return None
    has_post = bool(match["post"] or match["post_short"])
    after = int(match["post_number"] or match["post_short"] or 0) if has_post else -1
    if match["pre"]:
        pre = _PRE[match["pre"].lower()]
    else:
        pre = _DEV_ONLY if match["dev"] and not has_post else _NO_PRE
    dev = int(match["dev_number"] or 0) if match["dev"] else _RELEASED
    release = _release(match["release"].split("."))
    return int(match["epoch"] or 0), release, pre, int(match["pre_number"] or 0), after, dev


def _release(parts: Sequence[str]) -> tuple[int, ...]:
    """Its numbers, without zeros at the end."""
    numbers = [int(part) for part in parts]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def within(version: str, first: str, last: str) -> bool:
    """Whether ``version`` lies between ``first`` and ``last``, both included; an empty bound bounds nothing.

    False where ``version`` is no version.
    """
    key = version_key(version)
    if key is None:
        return False
    lower, upper = version_key(first) if first else None, version_key(last) if last else None
    return (lower is None or lower <= key) and (upper is None or key <= upper)


def older(version: str, floor: str) -> bool | None:
    """Whether ``version`` comes before ``floor``; ``None`` where one of them is no version."""
    left, right = version_key(version), version_key(floor)
    return None if left is None or right is None else left < right

"""Which known words a word that is not known was probably meant to be."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable

ALIKE = 0.6
"""Below this ratio of shared letters two words have nothing to do with each other."""

_SHORTEST_PART = 4
_PART_OF_IT = 0.8
_MOST_PATHS = 3


def nearest(word: str, known: Iterable[str], *, most: int = 2, within: float = 0.1) -> list[str]:
    """At most ``most`` of the ``known`` words, the likeliest first, none of which is less alike than the first one by
    more than ``within``; the dashes that options begin with do not count.

    A word that stands whole in a known one, as ``nv-target`` in ``toolkit.nv-target-missing``, is near to it.
    """
    ratios = _ratios(word, known)
    near = sorted(ratios, key=ratios.__getitem__, reverse=True)[:most]
    return [each for each in near if ratios[each] >= max(ALIKE, ratios[near[0]] - within)]


def likeness(word: str, known: Iterable[str]) -> float:
    """How alike ``word`` and the nearest of the ``known`` words are: 1 is equal, 0 nothing in common."""
    return max(_ratios(word, known).values(), default=0.0)


def did_you_mean(word: str, known: Iterable[str], *, otherwise: str = "", most: int = 2) -> str:
    """A question with the nearest words; ``otherwise`` where none is near."""
    near = nearest(word, known, most=most)
    return f"Did you mean {' or '.join(near)}?" if near else otherwise


def _ratios(word: str, known: Iterable[str]) -> dict[str, float]:
    from difflib import SequenceMatcher

    bare = word.lstrip("-")
    matcher = SequenceMatcher(None, "", bare)
    ratios: dict[str, float] = {}
    for each in known:
        if len(bare) >= _SHORTEST_PART and bare in each:
            ratios[each] = _PART_OF_IT
        matcher.set_seq1(each.lstrip("-"))
        if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE:
            ratios[each] = max(matcher.ratio(), ratios.get(each, 0.0))
    return ratios


def nearest_path(path: str, names_in: Callable[[str], Iterable[str]], is_there: Callable[[str], bool]) -> str:
    """What is there and differs from ``path`` in one name that is spelled like it; empty where nothing does."""
    folder, name = posixpath.split(path.rstrip("/"))
    rest = ""
    while name and folder not in ("", "/") and not is_there(folder):
        rest = f"/{name}{rest}"
        folder, name = posixpath.split(folder)
    near = (posixpath.join(folder, each) + rest for each in nearest(name, names_in(folder or "."), most=_MOST_PATHS))
    return next(filter(is_there, near), "")

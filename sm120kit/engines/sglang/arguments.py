"""A launch line taken apart into flags with their words, so that some of them can be taken out of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from sm120kit.engines.sglang.flags import flag_table, nearest_version
from sm120kit.engines.sglang.launch_line import is_flag, resolve_prefix, words_until_flag

SECRET_SETTINGS = ("api_key", "admin_api_key", "ssl_keyfile_password")
"""Settings whose value nobody else may read."""


class Flagged(NamedTuple):
    """One flag of a launch line."""

    setting: str
    """The setting's name (``dest``); empty for a word that belongs to no known flag."""
    words: tuple[str, ...]
    """As typed, the flag first."""
    values: tuple[str, ...]


def take_apart(arguments: Sequence[str], version: str) -> Iterator[Flagged]:
    """The flags in their order. ``arguments`` are those of a line in which nothing is wrong; ``version`` empty = as the
    newest known one reads them."""
    table = flag_table(nearest_version(version))
    place = 0
    while place < len(arguments):
        word = arguments[place]
        if not is_flag(word):
            yield Flagged("", (word,), ())
            place += 1
            continue
        name, equals, attached = word.partition("=")
        follow = words_until_flag(arguments, place + 1) if not equals else []
        fitting = resolve_prefix(name, table.flags)
        setting = table.flags[fitting[0]].dest if len({table.flags[each].dest for each in fitting}) == 1 else ""
        yield Flagged(setting, (word, *follow), (attached,) if equals else tuple(follow))
        place += 1 + len(follow)


def without(arguments: Sequence[str], settings: Collection[str], version: str) -> tuple[str, ...]:
    """The arguments less those that set one of ``settings``."""
    return tuple(word for each in take_apart(arguments, version) if each.setting not in settings for word in each.words)


def secrets_in(arguments: Sequence[str], version: str) -> dict[str, str]:
    """Secret settings that a line gives, with their values; the last one counts."""
    return {
        each.setting: each.values[0]
        for each in take_apart(arguments, version)
        if each.setting in SECRET_SETTINGS and each.values
    }

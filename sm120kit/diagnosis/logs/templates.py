"""Fills the templates of signatures: ``{name}`` for what a line or its log tells, ``[[with {name}|without it]]``."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping

_CHOICE = re.compile(r"\[\[(?P<known>.*?)(?:\|(?P<otherwise>[^|]*?))?\]\]")


def filled(template: str, values: Mapping[str, str]) -> str | None:
    """``template`` with the values in it; ``None`` where it names one that is not known.

    A template whose braces are no names is taken as it stands.
    """

    def chosen(choice: re.Match[str]) -> str:
        return choice["known"] if _names(choice["known"]) <= values.keys() else choice["otherwise"] or ""

    text = _CHOICE.sub(chosen, template)
    if not _names(text) <= values.keys():
        return None
    try:
        return text.format_map(values)
    except (ValueError, IndexError, AttributeError):
        return text


def with_names(template: str) -> str:
    """``template`` for a page about any log: as it reads where all is known, names in capitals."""
    whole = _CHOICE.sub(lambda choice: choice["known"], template)
    return re.sub(r"\{(\w+)\}", lambda name: name[1].upper(), whole)


def _names(text: str) -> set[str]:
    """The names in braces; none where the text is no template."""
    try:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}
    except ValueError:
        return set()

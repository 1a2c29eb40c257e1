"""Secrets that a launch knows, and their absence from everything that is written down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sm120kit.redaction import REDACTED, redacted

_NAMES_SECRETS = re.compile(r"(?i)(?:key|token|secret|passw|credential|auth)")
_SHORTEST = 6
"""A shorter value stands in too many places by chance to be taken out wherever it is."""


class Redactor:
    """Takes out the secrets it was told, wherever they stand, and what is one by its form or the name before it."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = sorted({each for each in secrets if len(each) >= _SHORTEST}, key=len, reverse=True)
        self._known = re.compile("|".join(re.escape(each) for each in known)) if known else None

    def text(self, text: str) -> str:
        """``text`` without them."""
        if self._known:
            text = self._known.sub(REDACTED, text)
        return redacted(text) if may_hold_secret(text) else text


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values of the variables whose names say that they hold a secret."""
    return tuple(value for name, value in environment.items() if _NAMES_SECRETS.search(name))


_WORTH_A_LOOK = re.compile(r"(?i)key|tok|secret|pass|cred|auth|bearer|basic|cookie|://|sk-|hf_|gh._|xox|akia|asia|eyj")


def may_hold_secret(text: str) -> bool:
    """Whether the slow look is needed: most lines of a server hold no word of that kind."""
    return _WORTH_A_LOOK.search(text) is not None

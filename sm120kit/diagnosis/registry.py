"""The decorator that makes a function a check, and what a check is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from sm120kit.diagnosis.types import CannotTell, Finding, Signature

if TYPE_CHECKING:
    from sm120kit.diagnosis.case import Case

CheckFunction = Callable[["Case"], Iterator[Finding | CannotTell]]


class NotApplicable(Exception):  # noqa: N818 - an outcome, not an error
    """Raised by a check whose subject is not there (no toolkit, no torch): the reason as a sentence."""


class Check(msgspec.Struct, frozen=True):
    """One check as read from its file. ``page`` is the file's docstring: its manual page."""

    id: str
    run: CheckFunction
    page: str = ""
    path: str = ""
    signatures: tuple[Signature, ...] = ()

    @property
    def title(self) -> str:
        """The first line of its page."""
        return self.page.strip().partition("\n")[0] or self.id


class LogFailure(msgspec.Struct, frozen=True):
    """A failure that is no matter for the doctor: one that only a log can show, a page and signatures; or one that only
    a launch looks for, a page alone."""

    id: str
    page: str = ""
    path: str = ""
    signatures: tuple[Signature, ...] = ()
    of_launch: bool = False
    """What finds it is the preflight of a launch, which looks at ports, memory and files of that very moment."""

    @property
    def title(self) -> str:
        """The first line of its page."""
        return self.page.strip().partition("\n")[0] or self.id


def log_failure(failure_id: str) -> LogFailure:
    """Say that this file holds signatures alone, under the id ``failure_id`` (``family.name``)."""
    return LogFailure(_valid(failure_id))


def preflight_question(finding_id: str) -> LogFailure:
    """Say that this file is the page of what the preflight of a launch may find, under an id of its own."""
    return LogFailure(_valid(finding_id), of_launch=True)


def check(check_id: str, *, needs: str = "") -> Callable[[CheckFunction], Check]:
    """Make a generator over a case the check ``check_id`` (``family.name``).

    It yields findings, and ``CannotTell`` for each subject it could not judge; it raises ``NotApplicable`` where
    there is nothing to judge. Having yielded nothing it says: looked at, and well. ``needs`` is a word of
    :data:`sm120kit.diagnosis.needs.NEEDS`: without that it does not apply.
    """
    valid = _valid(check_id)
    if not needs:
        return lambda function: Check(id=valid, run=function)
    from sm120kit.diagnosis.needs import only_with

    return lambda function: Check(id=valid, run=only_with(needs, lambda: function))


def _valid(check_id: str) -> str:
    family, dot, name = check_id.partition(".")
    words = (*family.split("-"), *name.split("-"))
    if not (dot and check_id.isascii() and check_id == check_id.lower() and all(map(str.isalnum, words))):
        raise ValueError(f"{check_id!r} is not a check id: use family.name in lower case, as toolkit.nv-target-missing")
    return check_id

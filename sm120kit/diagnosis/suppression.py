"""The suppression file: findings that somebody decided to live with, until when and why."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import msgspec

from sm120kit.diagnosis.types import Suppression
from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.files import Files

if TYPE_CHECKING:
    from pathlib import Path

_KEYS = ("check", "subject", "reason", "expires")
_EXAMPLE = '[[suppress]], check = "toolkit.dev-headers-missing", reason = "why", expires = 2027-03-31'
_SIZE_LIMIT = 1 << 20


def read_suppressions(path: Path) -> tuple[Suppression, ...]:
    """Read a TOML file of ``[[suppress]]`` tables: ``check`` and ``reason``, and perhaps ``subject`` and ``expires``.

    ``check`` and ``subject`` are globs. ``expires`` is the last day on which the line counts.

    Raises:
        Sm120kitError: the file cannot be read, or one of its tables is not as described; the message names it.
    """
    try:
        text = Files().read(str(path), _SIZE_LIMIT + 1)
        if len(text) > _SIZE_LIMIT:
            raise Sm120kitError(f"{path} is larger than 1 MiB: that is no suppression file")
        raw = msgspec.toml.decode(text)
    except OSError as error:
        from sm120kit.snapshot.misnamed import near_file

        hint = near_file(str(path), error)
        raise Sm120kitError(f"suppression file {path} cannot be read: {error.strerror}", hint=hint) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Sm120kitError(f"suppression file {path} is not TOML: {error}") from error
    others = sorted(set(raw) - {"suppress"}) if isinstance(raw, dict) else []
    if others:
        raise Sm120kitError(f"{path} has the unknown key {others[0]!r}", hint=f"Write tables as: {_EXAMPLE}")
    tables = raw.get("suppress", [])
    if not isinstance(tables, list):
        raise Sm120kitError(f"{path}: suppress is not a list of tables", hint=f"Write tables as: {_EXAMPLE}")
    return tuple(_read_table(table, f"{path}, [[suppress]] number {number}") for number, table in enumerate(tables, 1))


def _read_table(table: object, where: str) -> Suppression:
    if not isinstance(table, dict):
        raise Sm120kitError(f"{where} is not a table", hint=f"Write tables as: {_EXAMPLE}")
    for key in table:
        if key not in _KEYS:
            raise Sm120kitError(f"{where} has the unknown key {key!r}", hint=f"Its keys are {', '.join(_KEYS)}")
    texts = {}
    for key in ("check", "reason", "subject"):
        value = table.get(key, "*" if key == "subject" else "")
        if not isinstance(value, str):
            raise Sm120kitError(f"{where}: {key} is not a text")
        if not value.strip():
            raise Sm120kitError(f"{where} has no {key}", hint=f"Write tables as: {_EXAMPLE}")
        texts[key] = value
    return Suppression(texts["check"], texts["reason"], texts["subject"], _read_date(table.get("expires"), where))


def _read_date(value: object, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    try:
        return date.fromisoformat(value if isinstance(value, str) else "").isoformat()
    except ValueError:
        raise Sm120kitError(f"{where}: expires = {value!r} is no date", hint="Write it as 2027-03-31") from None


def is_expired(suppression: Suppression, today: date) -> bool:
    """Whether its last day is over."""
    return bool(suppression.expires) and date.fromisoformat(suppression.expires) < today


def covering(suppressions: Iterable[Suppression], check_id: str, subject: str) -> Suppression | None:
    """The first suppression that covers a finding of that check about that subject."""
    return next((each for each in suppressions if covers(each, check_id, subject)), None)


def covers(suppression: Suppression, check_id: str, subject: str) -> bool:
    """Whether both globs match. A subject written exactly always matches itself, whatever is in it."""
    return fnmatchcase(check_id, suppression.check) and (
        suppression.subject == subject or fnmatchcase(subject, suppression.subject)
    )

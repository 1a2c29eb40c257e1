"""Dated facts (``checks/tables/*.toml``), read typed. Every row names its source."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

import msgspec

from sm120kit.data import data_path
from sm120kit.errors import OWN_FAULT, Sm120kitError
from sm120kit.snapshot.files import Files


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all table rows: ``source`` is where the fact was read (a wheel, a page, an issue)."""

    source: str


AnyRow = TypeVar("AnyRow", bound=Row)


@cache
def read_table(name: str, row: type[AnyRow]) -> tuple[AnyRow, ...]:
    """Return the rows (``[[row]]``) of ``checks/tables/NAME.toml`` as values of ``row``.

    Raises:
        Sm120kitError: the table is missing or a row does not fit its type.
    """
    path = f"{data_path('checks')}/tables/{name}.toml"
    try:
        raw = msgspec.toml.decode(Files().read(path))
        return tuple(msgspec.convert(each, row) for each in raw["row"])
    except (OSError, KeyError, msgspec.MsgspecError) as error:
        raise Sm120kitError(f"table {path} cannot be read: {error}", exit_code=OWN_FAULT) from error

"""Dated facts (``checks/tables/*.toml``), read typed. Every row names its source."""

import contextlib
from functools import cache
from typing import TypeVar

import msgspec

from sm120kit.data import data_path
from sm120kit.errors import OWN_FAULT, Sm120kitError
from sm120kit.snapshot.files import Files


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all table rows: ``source`` is where the fact was read (a wheel, a page, an issue).

    Modules that define rows are without ``from __future__ import annotations``: msgspec would compile and evaluate each
    annotation when the table is read, which costs more than the reading.
    """

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
        content = Files().read(path)
        with contextlib.suppress(msgspec.MsgspecError):
            # The type is built at run time from the caller's row; no annotation can follow it.
            return msgspec.json.decode(_as_json(content.decode()), type=tuple[row, ...])  # type: ignore[valid-type]
        return tuple(msgspec.convert(each, row) for each in msgspec.toml.decode(content)["row"])
    except (OSError, KeyError, UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise Sm120kitError(f"table {path} cannot be read: {error}", exit_code=OWN_FAULT) from error


def _as_json(toml: str) -> str:
    """The rows of a table as JSON, where it is written as ours are; for other TOML something that is no JSON.

    That is: one ``key = value`` a line, each value one that both write alike (strings in double quotes, numbers,
    true and false, lists on one line). tomllib takes thirty times as long, for every table that a run looks into.
    """
    rows: list[list[str]] = []
    for line in toml.splitlines():
        if line == "[[row]]":
            rows.append([])
        elif line and not line.startswith("#"):
            key, equals, value = line.partition(" = ")
            if not equals or not rows:
                return ""
            rows[-1].append(f'"{key}":{value}')
    return f"[{','.join('{' + ','.join(row) + '}' for row in rows)}]"

"""Saves a snapshot as JSON and loads one, whoever wrote it and however it was cut."""

from __future__ import annotations

import sys

import msgspec

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.types.snapshot import SCHEMA, Snapshot
from sm120kit.text import encode_json

SIZE_LIMIT = 64 << 20
"""Bytes. A venv of a thousand distributions and ten toolkits takes less than one MiB."""

_TAKE_ONE = "Take one with: sm120kit snapshot -o FILE"


class _Head(msgspec.Struct):
    schema: object = None


def dump_snapshot(snapshot: Snapshot) -> bytes:
    """The snapshot as JSON text in UTF-8."""
    return encode_json(snapshot)


def load_snapshot(path: str) -> Snapshot:
    """Read a snapshot from a file, or from standard input where ``path`` is ``-``.

    Raises:
        Sm120kitError: the file cannot be read, is cut short, or is something else; exit code 4.
    """
    name = "standard input" if path == "-" else path
    try:
        data = sys.stdin.buffer.read(SIZE_LIMIT + 1) if path == "-" else Files().read(path, SIZE_LIMIT + 1)
    except OSError as error:
        from sm120kit.snapshot.misnamed import near_file

        hint = near_file(path, error, otherwise=_TAKE_ONE)
        raise _unreadable(f"snapshot {name} cannot be read: {error.strerror}", hint) from error
    if len(data) > SIZE_LIMIT:
        raise _unreadable(f"snapshot {name} is larger than {SIZE_LIMIT >> 20} MiB: that is no snapshot of ours")
    return parse_snapshot(data, name)


def parse_snapshot(data: bytes, name: str) -> Snapshot:
    """Read a snapshot from JSON text; ``name`` says in messages where the text came from.

    Raises:
        Sm120kitError: it is no snapshot of the schema that this version reads; exit code 4.
    """
    if not data.strip():
        raise _unreadable(f"snapshot {name} is empty")
    try:
        schema = msgspec.json.decode(data, type=_Head).schema
    except (msgspec.ValidationError, UnicodeDecodeError) as error:
        raise _unreadable(f"{name} is no snapshot: {error}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unreadable(f"{name} is no snapshot: it is cut short or no JSON ({error})") from error
    if schema != SCHEMA:
        raise _of_another_schema(schema, name)
    try:
        return msgspec.json.decode(data, type=Snapshot)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(f"snapshot {name} does not fit its schema {SCHEMA}: {error}") from error


def _of_another_schema(schema: object, name: str) -> Sm120kitError:
    family = SCHEMA.partition("/")[0]
    if isinstance(schema, str) and schema.startswith(family + "/"):
        return _unreadable(
            f"snapshot {name} has schema {schema[:60]!r}, and this version reads {SCHEMA}",
            hint="Read it with the version of sm120kit that wrote it, or a newer one",
        )
    if isinstance(schema, str) and schema.startswith("sm120kit."):
        hint = _PLANS if schema.startswith("sm120kit.plan/") else _TAKE_ONE
        return _unreadable(f"{name} is a {schema[9:60]!r} of sm120kit, no snapshot", hint)
    return _unreadable(f"{name} is JSON, but no snapshot of sm120kit: its schema is not {SCHEMA}")


_PLANS = (
    "A plan is compared with a running server or its log by: sm120kit plan MODEL --check URL|LOG; two plans, by diff of"
    " their texts"
)


def _unreadable(message: str, hint: str = _TAKE_ONE) -> Sm120kitError:
    return Sm120kitError(message, hint=hint, exit_code=TARGET_UNREADABLE)

"""The table of SGLang's flags (flags.json, made by tools/make_sglang_flags.py from the wheels), read typed."""

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from sm120kit.diagnosis.launch import Value
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.versions import version_key
from sm120kit.errors import OWN_FAULT, Sm120kitError

TABLE = Path(__file__).parent / "flags.json"


class Flag(msgspec.Struct, frozen=True):
    """One flag, as consecutive versions take it."""

    flags: tuple[str, ...]
    """Its spellings."""
    dest: str
    """The setting's name: that of the newest version, in all of them."""
    kind: Literal["value", "switch", "constant", "yes-no", "ignored", "refused"]
    """``constant`` takes no value and sets one; ``yes-no`` has a --no- form; ``ignored`` does nothing any more;
    ``refused`` ends the program with an error that names what to use."""
    first: int
    last: int
    nargs: str | int | None = None
    type: str = ""
    choices: tuple[str, ...] = ()
    default: str | int | float | bool | list[str | int | float] | None = None
    constant: str | int | float | bool | None = None
    deprecated: bool = False
    instead: str = ""

    @property
    def takes(self) -> str:
        """How many words follow it: ``0``, ``1``, ``?``, ``*``, ``+``."""
        if self.kind != "value":
            return "0"
        return str(self.nargs) if self.nargs is not None else "1"

    @property
    def default_value(self) -> Value:
        """What holds where it is not given; a switch is off."""
        if self.kind == "switch":
            return False
        return tuple(str(each) for each in self.default) if isinstance(self.default, list) else self.default


class _Table(msgspec.Struct, frozen=True):
    source: str
    versions: tuple[str, ...]
    rows: tuple[Flag, ...]


class Rename(Row, frozen=True, kw_only=True):
    """What became of a flag that went without an alias (checks/tables/sglang_renames.toml), or what does the work of a
    flag of vLLM (checks/tables/vllm_flags.toml)."""

    flag: str
    instead: tuple[str, ...] = ()
    """Flags that do its work now; empty where nothing does."""
    text: str = ""
    """What became of it, where a name alone does not say it."""


class FlagTable(msgspec.Struct, frozen=True):
    """All flags of one version, by spelling."""

    version: str
    flags: dict[str, Flag]

    @property
    def defaults(self) -> dict[str, Value]:
        """Every setting's default."""
        rows = sorted(self.flags.values(), key=lambda flag: not flag.deprecated)
        return {flag.dest: flag.default_value for flag in rows}


def versions() -> tuple[str, ...]:
    """The versions whose flags are known, oldest first."""
    return _table().versions


def nearest_version(version: str) -> str:
    """The version itself where it is known, else the newest known one before it, else the oldest."""
    known = versions()
    wanted = version_key(version)
    if wanted is None:
        return known[-1]
    before = [each for each in known if (key := version_key(each)) and key <= wanted]
    return before[-1] if before else known[0]


@cache
def flag_table(version: str) -> FlagTable:
    """The flags of a known version.

    Raises:
        KeyError: the table does not know this version; ask :func:`nearest_version` first.
    """
    if version not in versions():
        raise KeyError(version)
    number = versions().index(version)
    rows = [row for row in _table().rows if row.first <= number <= row.last]
    return FlagTable(version, {spelling: row for row in rows for spelling in row.flags})


def seen_in(flag: str) -> tuple[str, ...]:
    """The versions that have a flag of this spelling, oldest first."""
    rows = [row for row in _table().rows if flag in row.flags]
    return tuple(name for number, name in enumerate(versions()) if any(r.first <= number <= r.last for r in rows))


def begins_one(beginning: str) -> bool:
    """Whether a flag of some version begins so, with two letters at least: argparse takes that for the flag."""
    return len(beginning) >= len("--xx") and any(
        flag.startswith(beginning) for row in _table().rows for flag in row.flags
    )


def successors(flag: str) -> tuple[tuple[str, ...], str, str]:
    """What took the place of a flag: names, else a sentence, and where that was read; empty where not known."""
    row = next((row for row in read_table("sglang_renames", Rename) if row.flag == flag), None)
    if row:
        return row.instead, row.text, row.source
    alias = next((each for each in reversed(_table().rows) if flag in each.flags and each.instead), None)
    if alias:
        return (alias.instead,), "", f"sglang {versions()[alias.last]}: alias of {alias.instead}"
    return (), "", ""


def meant_by(flag: str) -> Rename | None:
    """What a flag of vLLM is called here, with the source; ``None`` = it is none that is known."""
    return next((row for row in read_table("vllm_flags", Rename) if row.flag == flag), None)


@cache
def _table() -> _Table:
    try:
        return msgspec.json.decode(TABLE.read_bytes(), type=_Table)
    except (OSError, msgspec.MsgspecError) as error:
        raise Sm120kitError(f"table {TABLE} cannot be read: {error}", exit_code=OWN_FAULT) from error

"""Reads and writes fleet.toml. Nothing in it is taken that no option knows, and every refusal names line and key."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from sm120kit.errors import USAGE, Sm120kitError, code_of
from sm120kit.fleet.order.options import BY_KEY, Option
from sm120kit.fleet.types import Struct
from sm120kit.text import visible

SGLANG = "sglang"
"""Key of SGLang's own arguments: a list of words, or a table of flags without their ``--``."""

_LARGEST = 1 << 20
_TABLES = tuple(dict.fromkeys(key.partition(".")[0] for key in BY_KEY if "." in key))
_NUMBERS = {"count": "whole number", "seconds": "number of seconds", "gib": "number of GiB"}
_SWITCHED = ("yes", "no", "on", "off", "true", "false", "1", "0", "")
"""What is written for a switch by who does not know that TOML has true and false."""

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


class FleetFile(Struct, frozen=True):
    """What a fleet.toml asks for."""

    path: str
    values: dict[str, Any]
    """By an option's key; every value is of that option's kind."""
    arguments: tuple[str, ...] = ()
    """SGLang's."""
    places: dict[str, str] = msgspec.field(default_factory=dict)
    """File and line of what stands in it, by the option or SGLang's flag that it is given as."""


def read_fleet_file(path: str) -> FleetFile:
    """Read and check a file.

    Raises:
        Sm120kitError: it is not there (2), cannot be read (4), or says something that no launch takes (2).
    """
    text = _text(path)
    return parse_fleet_file(text, path)


def parse_fleet_file(text: str, path: str) -> FleetFile:
    """The same from its text; ``path`` is used in messages, and relative paths are meant from its folder.

    Raises:
        Sm120kitError: it says something that no launch takes; exit code 2.
    """
    try:
        raw = msgspec.toml.decode(text)
    except (ValueError, RecursionError) as error:
        raise Sm120kitError(
            f"{visible(path)} is no TOML: {error}", hint="Mend it there; nothing was started"
        ) from error
    reading = _Reading(text, path)
    values = {option.key: reading.value(option, value) for option, value in reading.known(raw)}
    return FleetFile(path, values, reading.arguments(raw.get(SGLANG, [])), reading.places(raw))


class _Reading:
    """One file while it is checked."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.folder = os.path.dirname(os.path.abspath(path))

    def known(self, raw: Mapping[str, Any]) -> Iterator[tuple[Option, Any]]:
        """Every key with the option that it stands for."""
        for name, value in raw.items():
            if name == SGLANG:
                continue
            if name in BY_KEY:
                yield BY_KEY[name], value
            elif name not in _TABLES:
                raise self.unknown(name)
            elif not isinstance(value, dict):
                raise self.wrong(name, f"is a table, as in: [{name}]")
            else:
                for inner, each in value.items():
                    key = f"{name}.{inner}"
                    if key not in BY_KEY:
                        raise self.unknown(key)
                    yield BY_KEY[key], each

    def places(self, raw: Mapping[str, Any]) -> dict[str, str]:
        """Where each option and each of SGLang's flags is given."""
        found = {option.flag: self._place(option.key) for option, _ in self.known(raw) if option.flag}
        given = raw.get(SGLANG, [])
        for word in given:
            flag = f"--{word}" if isinstance(given, dict) else word.partition("=")[0]
            found.setdefault(flag, self._place(f"{SGLANG}.{word}" if isinstance(given, dict) else SGLANG))
        return found

    def value(self, option: Option, value: Any) -> Any:
        """The value as its option takes it."""
        match option.kind:
            case "switch":
                if not isinstance(value, bool):
                    raise self.wrong(option.key, "is true or false")
            case "count" | "seconds" | "gib":
                return self._number(option, value)
            case "texts":
                if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
                    raise self.wrong(option.key, 'is a list of texts, as in: ["one", "two"]')
                return tuple(self._clean(option.key, each) for each in value)
            case "variables":
                if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
                    raise self.wrong(option.key, 'is a table of texts, as in: NAME = "value"')
                return {self._clean(option.key, name): self._clean(option.key, each) for name, each in value.items()}
            case _:
                return self._one_text(option, value)
        return value

    def _number(self, option: Option, value: Any) -> int | float:
        whole = option.kind == "count"
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise self.wrong(option.key, f"is a {_NUMBERS[option.kind]}")
        if not math.isfinite(value) or not option.least <= value <= option.most:
            raise self.wrong(option.key, f"cannot be {value}: it is {option.range}")
        number: int | float = value
        return number

    def _one_text(self, option: Option, value: Any) -> str:
        if not isinstance(value, str):
            raise self.wrong(option.key, f'is a text, as in: {option.key.rpartition(".")[2]} = "..."')
        text = self._clean(option.key, value)
        if option.kind == "choice" and text not in option.choices:
            near = _near(text, option.choices) or option.choices
            raise self.wrong(option.key, f"cannot be {text!r}", f"Take {' or '.join(near)}")
        if option.kind == "path" and text and (option.key != "target.python" or "/" in text):
            return os.path.join(self.folder, os.path.expanduser(text))
        if option.key == "model" and text.startswith(("./", "../", "~")):
            return os.path.normpath(os.path.join(self.folder, os.path.expanduser(text)))
        return text

    def _clean(self, key: str, text: str) -> str:
        if "\0" in text:
            raise self.wrong(key, "holds a NUL character, which nothing can be called")
        return text

    def arguments(self, raw: Any) -> tuple[str, ...]:
        """SGLang's arguments as they would be typed."""
        if isinstance(raw, list):
            if not all(isinstance(each, str) for each in raw):
                raise self.wrong(SGLANG, 'is a list of words, as in: ["--tp", "2"], or a table')
            joined = next((each for each in raw if each.startswith("--") and " " in each.partition("=")[0]), "")
            if joined:
                words = ", ".join(json.dumps(each) for each in joined.split())
                raise self.wrong(SGLANG, f"takes {visible(joined)!r} for one word", f"Write it as: {words}")
            return tuple(self._clean(SGLANG, each) for each in raw)
        if not isinstance(raw, dict):
            raise self.wrong(SGLANG, 'is a list of words, as in: ["--tp", "2"], or a table')
        return tuple(word for name, value in raw.items() for word in self._flag(name, value))

    def _flag(self, name: str, value: Any) -> list[str]:
        key = f"{SGLANG}.{name}"
        if not _PLAIN_KEY.fullmatch(name) or name.startswith("-"):
            raise self.wrong(key, "is no flag", "Write SGLang's flags without their --, as in: tp-size = 2")
        if isinstance(value, bool):
            return [f"--{name}"] if value else []
        values = value if isinstance(value, list) else [value]
        if str(value).lower() in _SWITCHED and _is_switch(name):
            raise self.wrong(key, "is a switch", f"Write {name} = true, or leave it out")
        words = []
        for each in values:
            if isinstance(each, dict):
                words.append(json.dumps(each))
            elif isinstance(each, str | int | float) and not isinstance(each, bool):
                words.append(self._clean(key, str(each)))
            else:
                raise self.wrong(key, "is a text, a number, true, false, a table or a list of those")
        if len(words) == 1 and words[0].startswith("-"):
            return [f"--{name}={words[0]}"]
        return [f"--{name}", *words]

    def wrong(self, key: str, what: str, hint: str = "") -> Sm120kitError:
        """One clear line about a key."""
        return Sm120kitError(f"{self._place(key)}: {key} {what}", hint=hint or self._help(key))

    def unknown(self, key: str) -> Sm120kitError:
        """A key that no option knows."""
        elsewhere = tuple(each for each in BY_KEY if each.endswith(f".{key}"))
        near = elsewhere or _near(key, (*BY_KEY, SGLANG))
        table, dot, _ = key.partition(".")
        if not dot and not elsewhere and (tables := _near(key, _TABLES)):
            near = tuple(f"[{each}]" for each in tables)
        if not near and "." in key:
            near = tuple(each for each in BY_KEY if each.startswith(f"{table}."))
        hint = f"Did you mean {' or '.join(near)}?" if near else "See them all with: sm120kit launch --print-config"
        return Sm120kitError(f"{self._place(key)}: no launch knows the key {visible(key)}", hint=hint)

    def _help(self, key: str) -> str:
        return BY_KEY[key].help if key in BY_KEY else "See sm120kit launch --print-config"

    def _place(self, key: str) -> str:
        line = line_of(self.text, key)
        return f"{visible(self.path)}, line {line}" if line else visible(self.path)


def line_of(text: str, key: str) -> int:
    """The line on which a key is set, counted from 1; 0 where it cannot be told."""
    table, _, name = key.rpartition(".")
    here, header = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if match := re.match(r"\[+\s*([^\]]+?)\s*\]+", stripped):
            here = match[1].replace('"', "").replace("'", "")
            if here == key:
                header = number
            continue
        before = stripped.partition("=")[0].strip().replace('"', "").replace("'", "").replace(" ", "")
        full = f"{here}.{before}" if here else before
        if "=" in stripped and (full == key or (here == table and before == name)):
            return number
    return header


def _is_switch(name: str) -> bool:
    """Whether the newest SGLang takes this flag without a value."""
    from sm120kit.engines.sglang.flags import flag_table, versions

    flag = flag_table(versions()[-1]).flags.get(f"--{name}")
    return flag is not None and flag.takes == "0"


def _near(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    from difflib import get_close_matches

    return tuple(dict.fromkeys(get_close_matches(text, known, n=3, cutoff=0.6)))


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            raw = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise Sm120kitError(
            f"{visible(path)} cannot be read: {reason}",
            hint="Make one with: sm120kit launch --print-config > fleet.toml",
            exit_code=code_of(error) if isinstance(error, OSError) else USAGE,
        ) from error
    if len(raw) > _LARGEST:
        raise Sm120kitError(f"{visible(path)} is larger than {_LARGEST >> 20} MiB: that is no fleet.toml")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Sm120kitError(f"{visible(path)}, line {line}: not UTF-8", hint="TOML is always UTF-8") from error

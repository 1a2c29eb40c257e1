"""A stand-in's own command line: read by the few flags that its profile knows, by the table of all flags otherwise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from sm120kit.fleet.rehearsal.profile import Profile

_SECRETS = ("api_key", "admin_api_key")


class ArgumentError(Exception):
    """The genuine server would end with a usage message."""


class Started(NamedTuple):
    """What a server was started with."""

    settings: dict[str, Any]
    key: str
    """``--api-key``; it stands in no setting."""
    words: list[str]
    """The arguments without secrets, for what the server says of itself."""


def read_arguments(profile: Profile, words: Sequence[str]) -> Started:
    """The settings of the profile, with what the command line says otherwise.

    Raises:
        ArgumentError: the version would not take these words.
        OSError: the file that ``--config`` names cannot be read.
    """
    merged = _with_config(words)
    quick = _quick(profile, merged)
    settings = dict(profile.settings)
    settings |= quick if quick is not None else _whole(profile, merged)
    key = str(settings.get("api_key") or "")
    settings |= {name: None for name in _SECRETS if name in settings}
    if not settings.get("served_model_name"):
        settings["served_model_name"] = settings["model_path"]
    shown: list[str] = []
    for word in words:
        hide = shown and shown[-1] in ("--api-key", "--admin-api-key")
        shown.append("<redacted>" if hide else word)
    return Started(settings, key, shown)


def _quick(profile: Profile, words: Sequence[str]) -> dict[str, Any] | None:
    """What flags with one plain value say; ``None`` where there is any other."""
    found: dict[str, Any] = {}
    own = list(profile.arguments)
    place = 0
    while place < len(words):
        if own and list(words[place : place + len(own)]) == own:
            place += len(own)  # the profile's settings hold them already
            continue
        name, equals, value = words[place].partition("=")
        place += 1
        if name not in profile.flags:
            return None
        setting, kind = profile.flags[name]
        if kind == "switch":
            if equals:
                return None
            found[setting] = True
            continue
        if not equals:
            if place >= len(words) or words[place].startswith("-"):
                return None
            value = words[place]
            place += 1
        try:
            found[setting] = int(value) if kind == "int" else float(value) if kind == "float" else value
        except ValueError:
            return None
    return found


def _whole(profile: Profile, words: Sequence[str]) -> dict[str, Any]:
    from sm120kit.errors import Sm120kitError
    from sm120kit.fleet.rehearsal.settings import given_settings

    try:
        return given_settings(words, profile.version)
    except Sm120kitError as error:
        raise ArgumentError(error.message) from error


def _with_config(words: Sequence[str]) -> list[str]:
    """The words with those of ``--config FILE`` before them, so that the command line has the last word."""
    found = list(words)
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name != "--config":
            continue
        path = value if equals else (list(words[place + 1 :]) or [""])[0]
        rest = [*words[:place], *words[place + (1 if equals else 2) :]]
        found = [*_config_words(path), *rest]
    return found


def _config_words(path: str) -> list[str]:
    """The lines ``name: value`` of a YAML file as flags; nothing else of YAML is understood."""
    found: list[str] = []
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib costs a stand-in milliseconds
        lines = [line.strip() for line in file]
    for line in lines:
        name, colon, text = line.partition(":")
        if not colon or line.startswith("#"):
            continue
        text = text.strip()
        try:
            value = json.loads(text)
        except ValueError:
            value = text.strip("'")
        flag = f"--{name.strip().replace('_', '-')}"
        if value is True:
            found.append(flag)
        elif value not in (False, None):
            found += [flag, str(value)]
    return found

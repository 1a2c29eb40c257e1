"""configuration: the scheduler works with what was asked for, and with the same as its sisters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from sm120kit.diagnosis.launch import Value
from sm120kit.engines.sglang.effective import (
    MEASURED,
    comparable,
    effective_settings,
    larger_measure,
    same_setting,
    took_effect,
)
from sm120kit.engines.sglang.launch_line import read_launch_line
from sm120kit.fleet.types import Struct, Verdict
from sm120kit.fleet.verification.wording import quoted, replicas
from sm120kit.redaction import redacted

_SHOWN = 5
"""Differences that are written out."""

_ABSENT = "nothing"


class Settings(Struct, frozen=True):
    """One server's settings."""

    problem: str = ""
    """Why they are not known, as a sentence."""
    common: dict[str, str] = msgspec.field(default_factory=dict)
    """What it should have in common with its sisters, as JSON, by its path."""
    wrong: tuple[str, ...] = ()
    """What was asked for and did not come about."""
    adapted: tuple[str, ...] = ()
    """What SGLang changed as it does for some models and hardware."""
    version: str = ""


def read_settings(answer: object, arguments: Sequence[str], problem: str = "") -> Settings:
    """From the answer of ``/server_info``; ``arguments`` as they stand on its launch line, empty where not known."""
    if problem:
        return Settings(problem=f"/server_info {problem}")
    settings = effective_settings(answer)
    version = settings.get("version")
    if not isinstance(version, str) or not isinstance(settings.get("model_path"), str):
        return Settings(problem="/server_info answers as no SGLang does")
    if not isinstance(answer, dict) or not answer.get("internal_states"):
        return Settings(problem="/server_info holds no record of the scheduler (internal_states)")
    given = read_launch_line(arguments, version).given if arguments else {}
    wrong, adapted = _effects(given, settings)
    return Settings("", comparable(settings), wrong, adapted, version)


def _effects(given: Mapping[str, Value], settings: Mapping[str, object]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    wrong: list[str] = []
    adapted: list[str] = []
    for name, asked in given.items():
        became = took_effect(name, asked, settings)
        if became in ("adapted", "another"):
            text = f"{name} is {_value(name, settings[name])} where {_value(name, asked)} was asked for"
            (adapted if became == "adapted" else wrong).append(text)
    return tuple(wrong), tuple(adapted)


def judge_configuration(
    found: Mapping[int, Settings], kinds: Mapping[int, str], before: Mapping[str, Mapping[str, str]]
) -> dict[int, Verdict]:
    """Every server's verdict beside its sisters, by its number. ``before``: by kind, of those verified earlier.

    What follows from a GPU's memory is compared among those of one kind, all else among all.
    """
    known = {index: each.common for index, each in found.items() if not each.problem}
    earlier = {name: value for settings in before.values() for name, value in settings.items()}
    odd: dict[int, list[str]] = {index: [] for index in found}
    for name in sorted({name for each in known.values() for name in each} | set(earlier)):
        values = {index: each.get(name, _ABSENT) for index, each in known.items()}
        groups: list[tuple[dict[int, str], Mapping[str, str]]] = [(values, earlier)]
        if name.partition(".")[0] in MEASURED:
            groups = [
                ({index: value for index, value in values.items() if kinds[index] == kind}, before.get(kind, {}))
                for kind in dict.fromkeys(kinds.values())
            ]
        for members, reference in groups:
            for index, text in _odd_ones(name, members, reference).items():
                odd[index].append(text)
    return {index: _judge(index, each, odd[index], list(known), bool(before)) for index, each in found.items()}


def _odd_ones(name: str, values: Mapping[int, str], reference: Mapping[str, str]) -> dict[int, str]:
    """Those whose value is not the right one, with both values in words."""
    if not values:
        return {}
    top = name.partition(".")[0]
    counted = Counter(values.values()).most_common(2)
    if reference:
        right: str | None = reference.get(name, _ABSENT)
    elif len(counted) == 2 and counted[0][1] == counted[1][1] and not same_setting(top, counted[0][0], counted[1][0]):
        right = larger_measure(top, counted[0][0], counted[1][0])  # two values with as many holders each
    else:
        right = counted[0][0]
    found = {}
    for index, value in values.items():
        against = right if right is not None else next(each for each, _ in counted if each != value)
        if same_setting(top, value, against):
            continue
        holders = [number for number, other in values.items() if other == against]
        where = replicas(holders) if holders else "what was verified before"
        found[index] = f"{name} is {_shown(name, value)} here and {_shown(name, against)} at {where}"
    return found


def _judge(index: int, own: Settings, odd: Sequence[str], known: Sequence[int], referred: bool) -> Verdict:
    if own.problem:
        return _verdict(False, own.problem)
    faults = [*own.wrong, *odd]
    if faults:
        more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        return _verdict(False, "; ".join(faults[:_SHOWN]) + more)
    others = [each for each in known if each != index]
    same = f", the same as {replicas(others)}" if others else ", the same as was verified before" if referred else ""
    adapted = f"; SGLang adapted: {'; '.join(own.adapted[:_SHOWN])}" if own.adapted else ""
    return _verdict(True, f"SGLang {own.version}: {len(own.common)} settings{same}{adapted}")


def _value(name: str, value: object) -> str:
    text = str(list(value) if isinstance(value, tuple) else value)
    return _shown(name, text)


def _shown(name: str, text: str) -> str:
    """A setting's value as it may be shown: nothing where its name says that it is a secret."""
    if "[redacted]" in redacted(f"{name}={text}"):
        return "another secret"
    return quoted(text.strip('"'), 80)


def _verdict(passed: bool, evidence: str) -> Verdict:
    return Verdict("configuration", passed, evidence)

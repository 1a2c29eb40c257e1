"""Reads a launch line as the argparse of one SGLang version would, and goes on where that would stop.

argparse's rules that matter here: ``--flag value`` and ``--flag=value``; a prefix that fits one flag alone stands for
it; a word that begins with ``-`` is a flag unless it is a negative number; the last of repeated flags counts; ``--``
ends the flags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from sm120kit.diagnosis.launch import ArgumentProblem, Deprecation, LaunchLine, Value
from sm120kit.engines.sglang.flags import Flag, FlagTable, flag_table, meant_by, nearest_version, seen_in, successors

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_NEGATIVE_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
_MODULES = ("sglang.launch_server", "sglang.srt.entrypoints.http_server")


def read_launch_line(words: Sequence[str], version: str, version_source: str = "") -> LaunchLine:
    """Read the words after the program, or a whole command (``VAR=1 python -m sglang.launch_server --model-path M``).

    ``version`` is the SGLang that will run it. Where its flags are not in the table, those of the newest known version
    before it are taken, and the line says so (``read_as``).
    """
    read_as = nearest_version(version)
    reading = _Reading(flag_table(read_as))
    arguments = _without_program(words)
    reading.read(arguments)
    return LaunchLine(
        arguments=arguments,
        version=version,
        read_as=read_as,
        version_source=version_source,
        given=reading.given,
        typed=reading.typed,
        defaults=reading.table.defaults,
        problems=tuple(reading.problems),
        deprecations=tuple(reading.deprecations),
        repeated=tuple(reading.repeated),
    )


def _without_program(words: Sequence[str]) -> tuple[str, ...]:
    """The arguments alone; ``sglang serve MODEL`` names its model without a flag."""
    left = list(words)
    while left and (_ASSIGNMENT.fullmatch(left[0]) or left[0] in ("exec", "env", "nohup")):
        left.pop(0)
    if left and _PYTHON.fullmatch(left[0]):
        left.pop(0)
        while left and left[0] in ("-u", "-I", "-s", "-E", "-O"):
            left.pop(0)
        if left[:1] == ["-m"] and len(left) > 1 and left[1] in _MODULES:
            return tuple(left[2:])
        if left and left[0].endswith("launch_server.py"):
            left.pop(0)
        return tuple(left)
    if left and left[0].rpartition("/")[2] == "sglang" and left[1:2] == ["serve"]:
        left = left[2:]
        if left and not left[0].startswith("-"):
            return ("--model-path", *left)
    return tuple(left)


class _Reading:
    """One launch line while it is read."""

    def __init__(self, table: FlagTable) -> None:
        self.table = table
        self.given: dict[str, Value] = {}
        self.typed: dict[str, str] = {}
        self.problems: list[ArgumentProblem] = []
        self.deprecations: list[Deprecation] = []
        self.repeated: list[str] = []
        self.spellings = table.flags

    def read(self, words: Sequence[str]) -> None:
        place = 0
        while place < len(words):
            word = words[place]
            place += 1
            if word == "--" or not is_flag(word):
                if word != "--":
                    self._problem("stray", word, f"{word!r} belongs to no flag")
                continue
            name, equals, attached = word.partition("=")
            spelling = self._resolve(name)
            follow = words_until_flag(words, place) if not equals else [attached]
            if spelling is None:
                place += 0 if equals else len(follow)  # they belong to the flag that is not known
                continue
            flag = self.spellings[spelling]
            taken = self._take(flag, name, spelling, follow, attached=bool(equals))
            place += 0 if equals else taken

    def _resolve(self, name: str) -> str | None:
        """The full spelling that a typed flag stands for."""
        if name in self.spellings:
            return name
        before = seen_in(name)
        if before:
            self._gone(name, before)
            return None
        fitting = resolve_prefix(name, self.spellings)
        if fitting and all(self.spellings[each] is self.spellings[fitting[0]] for each in fitting):
            return fitting[0]
        if fitting:
            self._problem(
                "ambiguous", name, f"{name} could be {', '.join(sorted(fitting)[:6])}", tuple(sorted(fitting)[:6])
            )
            return None
        text = f"SGLang {self.table.version} has no flag {name}"
        other = meant_by(name)
        if other:
            words = f"{text}, which is vLLM's" + (f"; {other.text}" if other.text else "")
            known = tuple(each for each in other.instead if each in self.spellings)
            self._problem("unknown", name, words, known, other.source)
            return None
        self._problem("unknown", name, text, tuple(_nearest(name, self.spellings, 2, 0.75)))
        return None

    def _gone(self, name: str, seen: tuple[str, ...]) -> None:
        """A flag of other versions: of older ones, or of newer ones."""
        from sm120kit.diagnosis.versions import older

        if older(self.table.version, seen[0]):
            text = f"SGLang {self.table.version} has no flag {name} yet: it came with {seen[0]}"
            self._problem("too-new", name, text, (), f"sglang {seen[0]}: flags of its parser")
            return
        instead, words, source = successors(name)
        living = tuple(each for each in instead if each.split("=")[0].split("{")[0] in _prefixes(self.spellings))
        text = f"SGLang {self.table.version} has no flag {name} any more: {seen[-1]} was the last that took it"
        self._problem(
            "renamed" if living else "removed",
            name,
            f"{text}; {words}" if words else text,
            living,
            source or f"sglang {seen[-1]} and {self.table.version}: flags of their parsers",
        )

    def _take(self, flag: Flag, name: str, spelling: str, follow: list[str], *, attached: bool) -> int:
        """Give a flag (``name`` as typed, ``spelling`` in full) its values, and say how many words those were."""
        takes = flag.takes
        if takes == "0":
            if attached:
                self._problem("bad-value", name, f"{name} takes no value")
            else:
                self._set(flag, name, _switched(flag, spelling), name)
            return 0
        most = len(follow) if takes in "*+" else int(takes) if takes.isdigit() else 1
        values = follow[:most]
        least = {"?": 0, "*": 0, "+": 1}.get(takes, most)
        if len(values) < least:
            self._problem("missing-value", name, f"{name} needs a value and has none")
            return len(values)
        read = [self._value(flag, name, text) for text in values]
        if None not in read:
            many = takes in "*+" or (takes.isdigit() and takes != "1")
            value: Value = tuple(str(each) for each in read) if many else (read[0] if read else flag.constant)
            joined = f"{name}={values[0]}" if attached else " ".join((name, *values))
            self._set(flag, name, value, joined)
        return len(values)

    def _value(self, flag: Flag, name: str, text: str) -> str | int | float | None:
        value = _convert(flag.type, text)
        if value is None:
            self._problem("bad-value", name, f"{text!r} is no {_WORDS.get(flag.type, 'value')} for {name}")
        elif flag.choices and str(value) not in flag.choices:
            usual = _USUAL.get((flag.dest, text), "")
            near = [usual] if usual in flag.choices else []
            near += [each for each in _nearest(text, flag.choices, 3, 0.5) if each != usual]
            self._problem(
                "bad-choice",
                name,
                f"{name} cannot be {text!r} in SGLang {self.table.version}",
                tuple(near),
                f"sglang {self.table.version}: choices of {name}",
                flag.choices,
            )
            return None
        return value

    def _set(self, flag: Flag, name: str, value: Value, words: str) -> None:
        if flag.dest in self.given and flag.takes not in "*":
            self.repeated.append(name)
        if flag.deprecated or flag.kind == "ignored":
            self.deprecations.append(Deprecation(name, flag.instead))
        if flag.kind == "ignored":
            return
        if flag.kind == "refused":
            instead, text, source = successors(name)
            self._problem("removed", name, text or f"SGLang {self.table.version} refuses it", instead, source)
            return
        self.given[flag.dest], self.typed[flag.dest] = value, words

    def _problem(
        self,
        kind: str,
        flag: str,
        text: str,
        instead: tuple[str, ...] = (),
        source: str = "",
        choices: tuple[str, ...] = (),
    ) -> None:
        made = {"kind": kind, "flag": flag, "text": text, "instead": instead, "choices": choices}
        made["source"] = source or f"sglang {self.table.version}: flags of its parser"
        self.problems.append(msgspec.convert(made, ArgumentProblem))


_LARGEST = 1 << 63

_USUAL = {("kv_cache_dtype", "fp8"): "fp8_e4m3"}
"""What a value of vLLM stands for there (vllm 0.8.5: "CUDA 11.8+ supports fp8 (=fp8_e4m3)")."""

_WORDS = {
    "int": "whole number",
    "float": "number",
    "loads": "JSON",
    "human_readable_int": "count such as 8192 or 8k",
}


def _nearest(text: str, known: Iterable[str], most: int, cutoff: float) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(text, list(known), n=most, cutoff=cutoff)


def _switched(flag: Flag, spelling: str) -> Value:
    if flag.kind == "constant":
        return flag.constant
    return not (flag.kind == "yes-no" and spelling.startswith("--no-"))


def resolve_prefix(name: str, spellings: Mapping[str, Flag]) -> list[str]:
    """The spellings that a typed flag may stand for: itself, else all that it begins."""
    if name in spellings:
        return [name]
    return [each for each in spellings if each.startswith(name)] if name.startswith("--") else []


def is_flag(word: str) -> bool:
    """Whether argparse takes this word for a flag."""
    return (
        word.startswith("-")
        and word != "-"
        and not _NEGATIVE_NUMBER.fullmatch(word)
        and " " not in word.partition("=")[0]
    )


def words_until_flag(words: Sequence[str], place: int) -> list[str]:
    """The words from ``place`` on that are no flags."""
    found = []
    for word in words[place:]:
        if word == "--" or is_flag(word):
            break
        found.append(word)
    return found


def _prefixes(spellings: dict[str, Flag]) -> frozenset[str]:
    """Every spelling, and what a family of them begins with (``--cuda-graph-backend-``)."""
    return frozenset(spellings) | {f"{name.rpartition('-')[0]}-" for name in spellings}


def _convert(kind: str, text: str) -> str | int | float | None:
    """A word as its flag's type reads it; ``None`` where it does not fit."""
    try:
        if kind == "int":
            return _within(int(text))
        if kind == "float":
            return float(text)
        if kind == "loads":
            msgspec.json.decode(text)
        return _within(_count(text)) if kind == "human_readable_int" else text
    except (ValueError, OverflowError, RecursionError):
        return None


def _within(number: int | None) -> int | None:
    """No setting is larger than a machine's integers; what is would be counted with for ever."""
    return number if number is not None and abs(number) < _LARGEST else None


def _count(text: str) -> int | None:
    """``8192``, ``-1``, ``8k`` (8000), ``25.6k`` or ``8Ki`` (8192), as SGLang's human_readable_int reads them."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if match := re.fullmatch(r"(\d+)([KMGT])i", text):
        return int(match[1]) << 10 * (1 + "KMGT".index(match[2]))
    if match := re.fullmatch(r"(\d+(?:\.\d+)?)([kMGT])", text):
        return round(float(match[1]) * 10.0 ** (3 + 3 * "kMGT".index(match[2])))
    return None

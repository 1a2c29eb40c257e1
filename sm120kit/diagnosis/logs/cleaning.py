"""Takes off a line what was put around it: colours, timestamps, container and unit names, ranks; and hides secrets."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from sm120kit.redaction import redacted

_ANSI_BYTES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_=>])")
_ANSI = re.compile(_ANSI_BYTES.pattern.decode())
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

CLEANED_AWAY = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Colours and other characters that are taken out of a line, so that what stands around them comes together."""

NUMBERS = b"0123456789\x00"
"""Digits, without which lines are compared, and NULs, which count for nothing."""
_UNCOUNTED = NUMBERS + bytes([*range(1, 9), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F])

_DATE = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[ ]?[+-]\d\d:?\d\d)?"
_PREFIXES = re.compile(
    rf"""
      {_DATE}\ (?:stdout|stderr)\ [FP]\ ?                                   # container runtimes (CRI)
    | [A-Z][a-z]{{2}}\ [ \d]\d\ \d\d:\d\d:\d\d\ [\w.-]+\ [\w.@:/-]+(?:\[\d+\])?:\ ?     # journald, syslog
    | {_DATE}\ [\w.-]+\ [\w.@:/-]+\[\d+\]:\ ?                            # journald with -o short-iso
    | [\w.-]+\s+\|\ ?(?=\S|$)                                               # docker compose
    | \[pod/[^\]\s]+\]\ ?                                                   # kubectl logs --prefix
    | \[{_DATE}(?P<ranks>(?:\ [A-Z]{{2,4}}\d+)*)\]\ ?                       # SGLang
    | {_DATE}[,\s]\s*(?:-\s+)?
    | \[\s*\d+\.\d{{6}}\]\ ?                                                # the kernel
    | kernel:\ ?
    | \[(?P<rank>rank\d+|default\d+)\]:?\ ?                                 # torchrun
    | \[[EWIF]\d{{4}}\ \d\d:\d\d:\d\d\.\d+\ [\w.]+:\d+\]\ ?                 # torch's own logging
    | \((?P<name>[\w.-]+(?:\ pid=\d+)?)\)\ (?=\S)                           # vLLM, Ray
    | \d\d-\d\d\ \d\d:\d\d:\d\d\ \[[\w.]+:\d+\]\ ?                          # what vLLM puts after the level
    """,
    re.VERBOSE,
)
_VLLM_LEVEL = re.compile(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL) (?=\d\d-\d\d \d\d:\d\d:\d\d \[)")
_MOST_PREFIXES = 8

_LEVEL = re.compile(r"(?:\[|\()?(ERROR|CRITICAL|FATAL)(?:\]|\))?\s*[:|\-\s]")

_LONGEST = 600
"""Characters of a line that a report shows."""


class _Wrapped(msgspec.Struct):
    """A line of docker's json-file driver, of ``journalctl -o json``, or of a server that logs JSON."""

    log: str = ""
    MESSAGE: str = ""
    message: str = ""
    msg: str = ""


class Clean(NamedTuple):
    """The text of a line, which process wrote it, and whether it calls itself an error."""

    text: str
    process: str = ""
    is_error: bool = False


def clean(line: bytes) -> list[Clean]:
    """What a line says: one text, or several where carriage returns wrote it over."""
    text = _unwrapped(line)
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return [_without_prefixes(_UNPRINTABLE.sub("", part)) for part in text.split("\r") if part.strip()]


def without_numbers(text: bytes) -> bytes:
    """Lines without digits, colours and what else is taken out of them."""
    if b"\x1b" in text:
        text = _ANSI_BYTES.sub(b"", text)
    return text.translate(None, _UNCOUNTED)


def _unwrapped(line: bytes) -> str:
    if line.startswith(b"{") and line.rstrip().endswith(b"}"):
        try:
            wrapped = msgspec.json.decode(line, type=_Wrapped)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
        else:
            inner = wrapped.log or wrapped.MESSAGE or wrapped.message or wrapped.msg
            if inner:
                return inner.rstrip("\n")
    return line.decode("utf-8", "replace")


def _without_prefixes(text: str) -> Clean:
    process, is_error = "", False
    place = 0
    for _ in range(_MOST_PREFIXES):
        level = _VLLM_LEVEL.match(text, place)
        if level:
            is_error = is_error or level[1] in ("ERROR", "CRITICAL")
            place = level.end()
        prefix = _PREFIXES.match(text, place)
        if not prefix or prefix.end() == place:
            break
        place = prefix.end()
        process = process or (prefix["ranks"] or prefix["rank"] or prefix["name"] or "").strip()
    rest = text[place:].rstrip()
    return Clean(rest, process, is_error or bool(_LEVEL.match(rest.lstrip())))


def shown(text: str, place: int = 0) -> str:
    """``text`` as it may leave the program: secrets replaced, and of a long line what stands around ``place``."""
    place = len(redacted(text[:place])) if len(text) > _LONGEST else 0
    text = redacted(text)  # before it is cut: half a secret is none to recognise
    begin = max(0, place - _LONGEST // 3) if len(text) > _LONGEST else 0
    end = begin + _LONGEST
    return ("… " if begin else "") + text[begin:end].strip() + (" …" if end < len(text) else "")

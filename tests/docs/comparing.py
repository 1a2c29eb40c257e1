"""Compares what a command prints with what a page shows."""

from __future__ import annotations

import difflib
import re

_LEFT_OUT = re.compile(r"^\[(?:\.\.\.|…)\]\n", re.MULTILINE)

_BY_CHANCE = (
    (re.compile(r"\b\d+\.\d+ s\b|(?<=after )\d+(?:-\d+)? s\b"), "N s"),
    (re.compile(r"(?<![\w:.])(?:\d+:)?\d+:\d\d(?![\w:.])"), "M:SS"),
    (re.compile(r"\bprocess \d+(?:-\d+)?"), "process N"),
    (re.compile(r"-\d{8}T\d{6}-\d+(?=-\d+\.log)"), "-STARTED"),
    (re.compile(r"^(\d+  [\d,-]+ +\d{5}  .*?) +[\d,]+$", re.MULTILINE), r"\1 RATE"),
    (re.compile(r"[\d,]+ tokens/s( in sum)?"), "RATE tokens/s"),
    (re.compile(r"\d+%(?: to \d+%)? of the roofline"), "SHARE of the roofline"),
    (re.compile(r"the median is \d+, \d+ in sum"), "the median is RATE, RATE in sum"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "DIGEST"),
    (re.compile(r"(?<=/targets/)[\w.-]+"), "NAME"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


def difference(shown: str, printed: str) -> str:
    """What is unlike, as lines; empty where all that is shown was printed, in this order.

    A line ``[...]`` in the page stands for any number of lines. Times, digests, the numbers
    of processes and measured speeds are not compared.
    """
    shown, printed = _certain(shown), _certain(printed)
    pieces = _LEFT_OUT.split(shown)
    at = 0
    for number, piece in enumerate(pieces):
        found = printed.find(piece, at)
        if found < 0 or (number == 0 and found > 0):
            return "\n".join(difflib.unified_diff(piece.splitlines(), printed[at:].splitlines(), "shown", "printed"))
        at = found + len(piece)
    rest = printed[at:].strip("\n")
    return f"printed and not shown:\n{rest}" if rest and pieces[-1] else ""


def _certain(text: str) -> str:
    for pattern, instead in _BY_CHANCE:
        text = pattern.sub(instead, text)
    return text.strip("\n") + "\n"

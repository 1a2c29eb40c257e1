"""Finds the command lines in the pages for people, and what is said about them.

A fenced block of ``sh`` holds commands, one of ``text`` what a terminal showed: there commands follow ``$``. A comment
on the line before the block says what cannot be seen in it; several notes are parted by semicolons:

- ``<!-- exit 1 -->`` how the commands end, where not with 0; ``<!-- exit 0 1 0 -->`` one number for each of them. What
  ends with 130 goes on until Ctrl-C
- ``<!-- the same output -->`` what follows a command is what it prints, and is compared
- ``<!-- the same output, standard error with it -->`` the same for both streams, as a terminal shows them
- ``<!-- the same output with real wheels -->`` the same, where the wheels are there
- ``<!-- run by .ci/run -->`` they take minutes or the network; the CI runs them once
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

COMMAND_LINES = "command lines"
"""The property by which a test tells how many it ran as they are, ran as rehearsals, and left to the CI."""

ROOT = Path(__file__).resolve().parents[2]

MADE = ("docs/checks/", "docs/troubleshooting.md", "docs/compatibility.md")
"""Made from the catalogue: what they hold are remedies, with names to fill in."""

_BLOCK = re.compile(
    r"^(?:<!-- (?P<notes>[^>]*) -->\n)?```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
_TYPED = re.compile(r"^\$ ((?:.*\\\n)*.*)\n", re.MULTILINE)

Compared = Literal["", "here", "with wheels"]
_WITH_STANDARD_ERROR = "the same output, standard error with it"
_OUTPUT: dict[str, Compared] = {
    "the same output": "here",
    _WITH_STANDARD_ERROR: "here",
    "the same output with real wheels": "with wheels",
}


class CommandLine(NamedTuple):
    """One command of a page, lines that go on joined; ``line`` is where its block begins."""

    page: str
    line: int
    text: str
    code: int
    output: str
    """What the page shows below it."""
    in_ci: bool = False
    compared: Compared = ""
    """Where the output is compared."""
    both_streams: bool = False
    """What is shown is standard error too."""

    @property
    def needs_gpu(self) -> bool:
        """It starts genuine servers. The tests make a rehearsal of it."""
        return bool(re.match(r"sm120kit launch (?!\.\.\.|.*--(?:rehearse|render|print-config))", self.text))


def pages() -> list[str]:
    """Paths of all pages for people, from the root of the checkout."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    names = sorted(str(path.relative_to(ROOT)) for path in found)
    return [name for name in names if not name.startswith(MADE)]


def command_lines(page: str) -> list[CommandLine]:
    """All command lines of a page of the checkout, in order."""
    return list(in_text(page, (ROOT / page).read_text(encoding="utf-8")))


def in_text(page: str, text: str) -> Iterator[CommandLine]:
    """The command lines of a page with this text.

    Raises:
        ValueError: a note that is not known, or not as many exit codes as commands.
    """
    if re.search(r"^[ \t]+```", text, re.MULTILINE):
        raise ValueError(f"{page}: a block is indented, and what it holds would not be seen")
    for block in _BLOCK.finditer(text):
        if block["language"] not in ("sh", "text"):
            continue
        commands = _typed(block["body"]) if block["language"] == "sh" else _shown(block["body"])
        if not commands:
            continue
        line = text.count("\n", 0, block.start()) + 1
        codes, in_ci, both = [0], False, False
        compared: Compared = ""
        for note in filter(None, (block["notes"] or "").split("; ")):
            if re.fullmatch(r"exit( \d+)+", note):
                codes = list(map(int, note.split()[1:]))
            elif note == "run by .ci/run":
                in_ci = True
            elif note in _OUTPUT:
                compared, both = _OUTPUT[note], note == _WITH_STANDARD_ERROR
            else:
                raise ValueError(f"{page}:{line}: the note {note!r} is not known")
        if len(codes) not in (1, len(commands)):
            raise ValueError(f"{page}:{line}: {len(codes)} exit codes for {len(commands)} commands")
        for (command, output), code in zip(commands, codes * len(commands), strict=False):
            yield CommandLine(page, line, command, code, output, in_ci, compared, both)


def _typed(body: str) -> list[tuple[str, str]]:
    return [(line, "") for line in body.replace("\\\n", "").splitlines() if line and not line.startswith("#")]


def _shown(body: str) -> list[tuple[str, str]]:
    parts = _TYPED.split(body)[1:]
    return [(command.replace("\\\n", ""), output) for command, output in zip(parts[::2], parts[1::2], strict=True)]

"""Lines of text with styles: indented, wrapped between words, never inside a path or a command."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from sm120kit.text import copyable, visible

NARROWEST = 40
WIDEST = 110


class Row(NamedTuple):
    """One row of a table; empty cells are left out."""

    name: str
    value: str = ""
    where: str = ""


class Lines:
    """Text being written, line by line, no wider than ``width`` columns where words allow it.

    ``encoding`` is that of the place it is written to: commands are put so that they can be copied from there.
    """

    def __init__(self, width: int, encoding: str = "utf-8") -> None:
        self.encoding = encoding
        self.width = max(NARROWEST, min(width, WIDEST))
        self._text = Text()

    def blank(self) -> None:
        """An empty line, unless one just ended or nothing was written."""
        if self._text and not self._text.plain.endswith("\n\n"):
            self._text.append("\n")

    def raw(self, text: str, indent: int = 0, style: str = "") -> None:
        """One line that is not wrapped: something to copy."""
        self._text.append(" " * indent).append(visible(text), style).append("\n")

    def pieces(self, pieces: Iterable[tuple[str, str]]) -> None:
        """One line made of texts, each with its style; they are escaped by the caller."""
        line = Text()
        for text, style in pieces:
            line.append(text, style)
        line.rstrip()
        self._text.append_text(line).append("\n")

    def command(self, text: str, indent: int = 0) -> None:
        """A shell command on one line, to copy."""
        self.raw(copyable(text, self.encoding), indent, "cyan")

    def prose(self, text: str, *, indent: int = 0, style: str = "", label: str = "", label_style: str = "") -> None:
        """A paragraph, its first line led by ``label``, wrapped between words."""
        pieces = _wrapped(visible(text), self.width - indent)
        for number, piece in enumerate(pieces or [""]):
            self._text.append((label if number == 0 else "").ljust(indent), label_style)
            self._text.append(piece, style).append("\n")

    def table(self, rows: Iterable[Row], *, indent: int = 0, label: str = "", label_style: str = "") -> None:
        """Rows of a name, a value, and where it was seen, in columns; what does not fit goes on the next line.

        ``label`` leads the first row, left of ``indent``.
        """
        shown = [Row(*(visible(cell) for cell in row)) for row in rows]
        room = self.width // 2
        names = max((cell_len(row.name) for row in shown if cell_len(row.name) <= room), default=0)
        values = max((cell_len(row.value) for row in shown if cell_len(row.value) <= self.width // 3), default=0)
        for number, row in enumerate(shown):
            self._text.append((label if number == 0 else "").ljust(indent), label_style)
            column = indent + names + 2 if cell_len(row.name) <= names else indent + 4
            here = self._place(row.name, indent, indent, "")
            if row.value:
                here = self._place(row.value, here, column, "")
            if row.where:
                beside = max(here + 2, column + values + 2 if row.value else column)
                for start in (beside, here + 2):
                    if start + cell_len(row.where) <= self.width:
                        self._place(row.where, here, start, "dim")
                        break
                else:
                    self._place(row.where, self.width, column, "dim")
            self._text.append("\n")

    def steps(self, steps: Iterable[tuple[str, str]], *, indent: int = 2) -> None:
        """Commands to copy with what each does: side by side, or below each other where one is long."""
        shown = [(copyable(command, self.encoding), meaning) for command, meaning in steps]
        if all(cell_len(command) <= self.width // 2 for command, _ in shown):
            self.table([Row(command, meaning) for command, meaning in shown], indent=indent)
            return
        for command, meaning in shown:
            self.raw(command, indent)
            self.prose(meaning, indent=indent + 4)

    def _place(self, text: str, here: int, column: int, style: str) -> int:
        """Write ``text`` at ``column``, on the next line where ``here`` is past it; return where that ends."""
        pieces = _wrapped(text, self.width - column) or [""]
        gap = " " * (column - here) if here <= column else "\n" + " " * column
        for number, piece in enumerate(pieces):
            self._text.append(gap if number == 0 else "\n" + " " * column).append(piece, style)
        return column + cell_len(pieces[-1])

    def render(self, *, colour: bool) -> str:
        """All of it, with terminal colours or plain."""
        stream = StringIO()
        console = Console(
            file=stream,
            force_terminal=colour,
            color_system="standard" if colour else None,
            no_color=not colour,
            markup=False,
            emoji=False,
            highlight=False,
            legacy_windows=False,
            width=self.width,
        )
        console.print(self._text, soft_wrap=True, end="")
        return stream.getvalue()


def _wrapped(text: str, width: int) -> list[str]:
    """``text`` cut between words; a word wider than ``width`` stands on a line of its own, whole."""
    lines: list[str] = []
    current = ""
    for word in text.split(" "):
        if current and cell_len(current) + 1 + cell_len(word) > width:
            lines.append(current)
            current = word
        else:
            current = f"{current} {word}" if current else word
    return [*lines, current] if current else lines

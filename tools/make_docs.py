"""Writes the pages of docs/ that are made from the catalogue: checks, troubleshooting, compatibility.

``python -m tools.make_docs`` writes, ``--check`` only says what is out of date and exits 1.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from sm120kit.diagnosis.catalogue import read_catalogue
from tools.check_pages import check_pages
from tools.compatibility_page import compatibility_page
from tools.troubleshooting_page import troubleshooting_page

DOCS = Path(__file__).resolve().parent.parent / "docs"


def made_pages() -> dict[str, str]:
    """Text of every page by its path below docs/."""
    catalogue = read_catalogue()
    return {
        **check_pages(catalogue),
        "troubleshooting.md": troubleshooting_page(catalogue),
        "compatibility.md": compatibility_page(),
    }


def stale_pages(made: dict[str, str], docs: Path) -> list[str]:
    """Paths below ``docs`` where something else stands than what is made, pages of checks that are gone included."""
    old = {str(path.relative_to(docs)) for path in (docs / "checks").glob("*.md")}
    return sorted(name for name in made.keys() | old if made.get(name) != _text(docs / name))


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with ``--check`` compare them."""
    made = made_pages()
    stale = stale_pages(made, DOCS)
    if list(arguments) == ["--check"]:
        sys.stdout.writelines(f"out of date: docs/{name}\n" for name in stale)
        sys.stdout.write(f"{len(made)} pages looked at\n")
        return 1 if stale else 0
    for name in stale:
        if name in made:
            (DOCS / name).write_text(made[name], encoding="utf-8")
        else:
            (DOCS / name).unlink()
    sys.stdout.write(f"{len(made)} pages, {len(stale)} changed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Write docs/checks/: one page per check from the docstring of its file, and an index.

``python docs/generate_checks.py`` writes, ``--check`` only says what is out of date and exits 1.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.diagnosis.types import Signature

FOLDER = Path(__file__).resolve().parent / "checks"


def pages() -> dict[str, str]:
    """Text of every page by file name."""
    checks = list(read_catalogue().entries.values())
    made = {f"{check.id}.md": page(check) for check in checks}
    made["README.md"] = index(checks)
    return made


def page(check: Check | LogFailure) -> str:
    """One check's page: its docstring under its id, then the failures it knows by their text."""
    text = f"# {check.id}\n\n{check.page.strip()}\n"
    if check.signatures:
        text += "\n## Known by these lines in a log\n" + "".join(map(_signature, check.signatures))
    return text


def index(checks: list[Check | LogFailure]) -> str:
    """All checks by family."""
    text = (
        "# Checks\n\nMade from the docstrings of `checks/`; the same pages as `sm120kit explain ID`. Those\n"
        "marked *log* are no checks that the doctor runs: only a log can show them, and `sm120kit why` names them.\n"
        "Those marked *launch* are what `sm120kit launch` looks for before it starts anything.\n"
    )
    for family, members in groupby(checks, key=lambda check: check.id.partition(".")[0]):
        text += f"\n## {family}\n\n"
        text += "".join(map(_entry, members))
    return text


def _entry(check: Check | LogFailure) -> str:
    mark = (" *launch*" if check.of_launch else " *log*") if isinstance(check, LogFailure) else ""
    return f"- [{check.id}]({check.id}.md){mark}: {check.title}\n"


def _signature(signature: Signature) -> str:
    seen = f"; {signature.versions}" if signature.versions else ""
    return f"\n    {signature.example}\n\n{signature.rank}, seen with {signature.source}{seen}.\n"


def main(arguments: list[str]) -> int:
    """Write the pages, or with ``--check`` compare them."""
    made = pages()
    there = {path.name: path.read_text() for path in FOLDER.glob("*.md")}
    stale = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
    if arguments == ["--check"]:
        sys.stdout.writelines(f"out of date: docs/checks/{name}\n" for name in stale)
        sys.stdout.write(f"{len(made)} pages looked at\n")
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for name in stale:
        if name in made:
            (FOLDER / name).write_text(made[name])
        else:
            (FOLDER / name).unlink()
    sys.stdout.write(f"{len(made)} pages, {len(stale)} changed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""docs/checks/: one page per check from the docstring of its file, and an index."""

from __future__ import annotations

from itertools import groupby

from sm120kit.diagnosis.catalogue import Catalogue
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.diagnosis.types import Signature


def check_pages(catalogue: Catalogue) -> dict[str, str]:
    """Text of every page by its path below docs/."""
    checks = list(catalogue.entries.values())
    made = {f"checks/{check.id}.md": _page(check) for check in checks}
    made["checks/README.md"] = _index(checks)
    return made


def _page(check: Check | LogFailure) -> str:
    """One check's page: its docstring under its id, then the failures it knows by their text."""
    text = f"# {check.id}\n\n{check.page.strip()}\n"
    if check.signatures:
        text += "\n## Known by these lines in a log\n" + "".join(map(_signature, check.signatures))
    return text


def _index(checks: list[Check | LogFailure]) -> str:
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

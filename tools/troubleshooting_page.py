"""docs/troubleshooting.md: every line of a log that is known, with what it means and what to do."""

from __future__ import annotations

from itertools import groupby

from sm120kit.diagnosis.catalogue import Catalogue
from sm120kit.diagnosis.logs.templates import with_names
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.diagnosis.types import LogRemedy, Rank, Signature

_HEAD = """# Troubleshooting by error text

Search this page for a word of the line that you see. Made from the signatures of `checks/`, by family; each line was
seen in a log or in a program's own source. `sm120kit why server.log` does the same for a whole log, and says which of
its lines is the first real error.

A line is a cause unless it says something else:

- **wrapper**: it only reports that something else failed. Look further up in the log.
- **consequence**: any other fault in the same log explains it.
- **limit**: no fault; the server does less than was asked of it, or soon will.
- **stage**: no fault; how far a start has come. It is named where it is the last one and nothing failed.
"""

_MARKS: dict[Rank, str] = {
    "cause": "",
    "wrapper": "**wrapper**: ",
    "consequence": "**consequence**: ",
    "limit": "**limit**: ",
    "stage": "**stage**: ",
}


def troubleshooting_page(catalogue: Catalogue) -> str:
    """The page. What a signature fills in from the line stands there as its name in capitals."""
    text = _HEAD
    known = [entry for entry in catalogue.entries.values() if entry.signatures]
    for family, members in groupby(known, key=lambda entry: entry.id.partition(".")[0]):
        text += f"\n## {family}\n"
        text += "".join(map(_entry, members))
    return text


def _entry(entry: Check | LogFailure) -> str:
    head = f"\n### {entry.title}\n\nThe page: [{entry.id}](checks/{entry.id}.md).\n"
    return head + "".join(_signature(signature, entry.title) for signature in entry.signatures)


def _signature(signature: Signature, title: str) -> str:
    text = f"\n```text\n{signature.example}\n```\n\n"
    said = with_names(signature.message)
    if said and said != title:
        text += f"{_MARKS[signature.rank]}{said}.\n"
    elif signature.rank != "cause":
        text += f"{_MARKS[signature.rank]}see the page.\n"
    if signature.remedies:
        text += "\n" + "".join(map(_remedy, signature.remedies))
    return text.rstrip("\n") + "\n"


def _remedy(remedy: LogRemedy) -> str:
    bounds = " to ".join(filter(None, (remedy.first, remedy.last)))
    if remedy.package and bounds and not (remedy.first and remedy.last):
        bounds += " and later" if remedy.first else " and earlier"
    where = f" ({remedy.package} {bounds})" if bounds else ""
    commands = "".join(f"\n  `{with_names(command)}`" for command in remedy.commands)
    return f"- {with_names(remedy.text)}{where}{':' if commands else ''}{commands}\n"

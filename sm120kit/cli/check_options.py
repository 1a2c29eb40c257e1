"""The options that say which checks there are, and which findings count."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

from sm120kit.cli.options import option
from sm120kit.cli.text_option import text_option

if TYPE_CHECKING:
    from sm120kit.diagnosis.catalogue import Catalogue
    from sm120kit.diagnosis.types import Suppression

checks_dir_option = option(
    "--checks-dir", "checks_dirs", metavar="DIR", multiple=True, help="Read more checks from this folder; repeatable."
)

fail_on_option = option(
    "--fail-on",
    type=click.Choice(["error", "warning", "unknown", "never"]),
    default="error",
    show_default=True,
    help="What makes the exit code 1; each takes in those before it.",
)

suppressions_option = text_option(
    "--suppressions", metavar="FILE", help="Findings to live with: [[suppress]] tables in TOML."
)


_FORMATS = {"json": "json", "xml": "junit", "md": "markdown"}
"""What a report is probably meant to be by the end of its file's name."""


def complete_check(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Ids of all checks, for shells."""
    from sm120kit.diagnosis.catalogue import read_catalogue

    folders: Sequence[str] = context.params.get("checks_dirs") or ()
    return [check_id for check_id in read_catalogue(folders).checks if check_id.startswith(incomplete)]


def catalogue_of(folders: Sequence[str], *, failures: bool = True) -> Catalogue:
    """The catalogue with the checks of ``--checks-dir``; what is not as it should be with these is said."""
    from sm120kit.diagnosis.catalogue import read_catalogue

    catalogue = read_catalogue(folders, failures=failures)
    if catalogue.remarks:
        from sm120kit.cli.saying import say

        for remark in catalogue.remarks:
            say(remark)
    return catalogue


def suppressions_in(path: str, checks: Collection[str]) -> tuple[Suppression, ...]:
    """The lines of the file that ``--suppressions`` names; none without it. One that none of the ids ``checks`` fits is
    told of, as it would cover nothing anywhere.

    Raises:
        Sm120kitError: the file cannot be read or understood; exit code 2.
    """
    if not path:
        return ()
    from fnmatch import fnmatchcase
    from pathlib import Path

    from sm120kit.diagnosis.suppression import read_suppressions

    read = read_suppressions(Path(path))
    for check_id in dict.fromkeys(each.check for each in read):
        if not any(fnmatchcase(each, check_id) for each in checks):
            from sm120kit.cli.saying import say
            from sm120kit.diagnosis.selection import nearest_ids

            say(f"{path} suppresses {check_id}, which matches no check", nearest_ids(check_id, checks))
    return read


def format_of(form: str | None, output: str, *, as_json: bool) -> str:
    """The format that ``--format`` and ``--json`` ask for. Where neither was given and the name of the file that is
    written says something else than text, that is said.

    Raises:
        Sm120kitError: they contradict each other; exit code 2.
    """
    if as_json and form not in (None, "json"):
        from sm120kit.errors import Sm120kitError

        raise Sm120kitError(f"--json and --format {form} contradict each other", hint="Give one of the two")
    if not (as_json or form) and (named := _FORMATS.get(output.rpartition(".")[2])):
        from sm120kit.cli.saying import say

        say(f"{output} is written as text", f"For what its name says: --format {named}")
    return "json" if as_json else form or "text"

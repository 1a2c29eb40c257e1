"""``sm120kit checks``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from sm120kit.cli.check_options import catalogue_of, checks_dir_option, complete_check
from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import terminal, write_result
from sm120kit.cli.text_option import filled
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.diagnosis.types import CHECKS_SCHEMA, CheckList, ListedCheck
from sm120kit.errors import GOOD


@subcommand()
@click.argument("glob", metavar="[FAMILY]", default=None, callback=filled, shell_complete=complete_check)
@checks_dir_option
@option("--json", "as_json", is_flag=True, help="Print the data (sm120kit.checks/1) alone, with pages and signatures.")
def command(*, glob: str, checks_dirs: Sequence[str], as_json: bool) -> int:
    """List all checks, and the failures that only a log or a launch can show: id and title.

    With FAMILY only those of it, as in: sm120kit checks toolkit. It may be a glob over ids: '*cccl*'.
    """
    entries = catalogue_of(checks_dirs).entries
    if glob:
        from sm120kit.diagnosis.selection import matching

        entries = {check_id: entries[check_id] for check_id in matching(glob, entries)}
    if as_json:
        from sm120kit.text import encode_json

        write_result(encode_json(_data(entries.values())))
        return GOOD
    from sm120kit.report.lines import Lines, Row

    width, colour = terminal()
    lines = Lines(width)
    lines.table([Row(entry.id, entry.title, _mark(entry)) for entry in entries.values()])
    write_result(lines.render(colour=colour))
    return GOOD


def _mark(entry: Check | LogFailure) -> str:
    if isinstance(entry, Check):
        return ""
    return "(looked for by launch)" if entry.of_launch else "(known from logs alone)"


def _data(entries: Iterable[Check | LogFailure]) -> CheckList:
    return CheckList(CHECKS_SCHEMA, tuple(_listed(entry) for entry in entries))


def _listed(entry: Check | LogFailure) -> ListedCheck:
    of_launch = isinstance(entry, LogFailure) and entry.of_launch
    return ListedCheck(
        id=entry.id,
        title=entry.title,
        path=entry.path,
        page=entry.page,
        signatures=tuple(entry.signatures),
        only_in_logs=isinstance(entry, LogFailure) and not of_launch,
        only_at_launch=of_launch,
    )

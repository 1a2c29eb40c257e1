"""``sm120kit checks``."""

from __future__ import annotations

from collections.abc import Sequence

from sm120kit.cli.check_options import checks_dir_option
from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import terminal, write_result
from sm120kit.diagnosis.catalogue import Catalogue, read_catalogue
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.diagnosis.types import CHECKS_SCHEMA, CheckList, ListedCheck
from sm120kit.errors import GOOD


@subcommand()
@checks_dir_option
@option("--json", "as_json", is_flag=True, help="Print the data (sm120kit.checks/1) alone, with pages and signatures.")
def command(*, checks_dirs: Sequence[str], as_json: bool) -> int:
    """List all checks, and the failures that only a log or a launch can show: id and title."""
    catalogue = read_catalogue(checks_dirs)
    if as_json:
        from sm120kit.text import encode_json

        write_result(encode_json(_data(catalogue)))
        return GOOD
    from sm120kit.report.lines import Lines, Row

    width, colour = terminal()
    lines = Lines(width)
    lines.table([Row(entry.id, entry.title, _mark(entry)) for entry in catalogue.entries.values()])
    write_result(lines.render(colour=colour))
    return GOOD


def _mark(entry: Check | LogFailure) -> str:
    if isinstance(entry, Check):
        return ""
    return "(looked for by launch)" if entry.of_launch else "(known from logs alone)"


def _data(catalogue: Catalogue) -> CheckList:
    entries = catalogue.entries.values()
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

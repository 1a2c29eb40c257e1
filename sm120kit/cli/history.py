"""``sm120kit history``."""

from __future__ import annotations

from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import terminal, write_result
from sm120kit.cli.saying import say
from sm120kit.cli.target_environment import data_dir_option
from sm120kit.data_dir import DataDir, open_data_dir
from sm120kit.errors import GOOD
from sm120kit.repair.journal import Entry, entries, is_live, unwritten
from sm120kit.repair.lock import holder
from sm120kit.repair.types import HISTORY_SCHEMA, History, HistoryLine


@subcommand()
@option("--json", "as_json", is_flag=True, help="Write it as JSON.")
@data_dir_option
def command(*, as_json: bool, data_dir: str) -> int:
    """List the repairs that were applied: when, to which target, what they cured, and whether they stand."""
    folder = open_data_dir(data_dir)
    for sentence in unwritten(folder):
        say(sentence)
    at_work = holder(folder)
    lines = tuple(_line(entry, at_work, folder) for entry in entries(folder))
    if as_json:
        from sm120kit.text import encode_json

        write_result(encode_json(History(HISTORY_SCHEMA, lines)))
        return GOOD
    from sm120kit.report.history import render_history

    width, colour = terminal()
    write_result(render_history(lines, width=width, colour=colour))
    return GOOD


def _line(entry: Entry, at_work: int, folder: DataDir) -> HistoryLine:
    record = entry.record
    return HistoryLine(
        number=record.number,
        started_at=record.started_at,
        status=entry.status,
        target=record.target,
        actions=len(record.steps),
        cures=record.cures,
        view=record.view,
        at_work=at_work if entry.status in ("applying", "taking-back") else 0,
        live=entry.status == "applied" and is_live(entry, folder),
    )

"""``sm120kit undo``."""

from __future__ import annotations

import re

import click

from sm120kit.cli.options import subcommand
from sm120kit.cli.output import write_result
from sm120kit.cli.saying import say
from sm120kit.cli.target_environment import data_dir_option
from sm120kit.data_dir import open_data_dir
from sm120kit.errors import GOOD, Sm120kitError
from sm120kit.repair.journal import Entry, discard_unwritten, entries, live_repair
from sm120kit.repair.lock import locked
from sm120kit.repair.transaction import recover, undo
from sm120kit.repair.types import Record


def _number_of_repair(_context: click.Context, _parameter: click.Parameter, word: str | None) -> int | None:
    if word is None:
        return None
    if not re.fullmatch("[1-9][0-9]{0,8}", word):
        raise Sm120kitError(
            f"{word!r} is no NUMBER of a repair: they are counted from 1",
            hint="The numbers begin the lines of: sm120kit history",
        )
    return int(word)


@subcommand()
@click.argument("number", metavar="[NUMBER]", required=False, callback=_number_of_repair)
@data_dir_option
def command(*, number: int | None, data_dir: str) -> int:
    """Take back a repair exactly: the last one, or the one of that NUMBER (see sm120kit history).

    It refuses, and changes nothing, where someone else changed one of its paths since.
    """
    folder = open_data_dir(data_dir)
    with locked(folder):
        unwritten, recovered = discard_unwritten(folder), recover(folder)
        for sentence in (*unwritten, *recovered):
            say(sentence)
        if recovered and number is None:
            return GOOD
        applied = [entry for entry in entries(folder) if entry.status == "applied"]
        chosen = next((entry for entry in reversed(applied) if number in (None, entry.record.number)), None)
        if chosen is None:
            which = f"repair {number} is not applied" if number else "no repair is applied"
            raise Sm120kitError(f"{which} in {folder.path}", hint="List them with: sm120kit history")
        undo(chosen)
        now = live_repair(folder, chosen.record.target_key)
    write_result(f"Repair {chosen.record.number} of {chosen.record.target} was taken back.\n")
    for sentence in _what_is_left(chosen.record, now):
        say(sentence)
    return GOOD


def _what_is_left(record: Record, now: Entry | None) -> list[str]:
    """What is live for the target after a repair of it was taken back, and who may still use what is gone."""
    if now:
        return [f"repair {now.record.number} is the live one of this target now"]
    if not record.view:
        return []
    return [
        "no repair is live for this target now; in a shell that sourced its env.sh, sm120kit_restore brings the former "
        "environment back, and units that name its env.systemd are to be started without it"
    ]

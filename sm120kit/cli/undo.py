"""``sm120kit undo``."""

from __future__ import annotations

import click

from sm120kit.cli.output import write_result
from sm120kit.cli.target_environment import data_dir_option
from sm120kit.data_dir import open_data_dir
from sm120kit.errors import GOOD, Sm120kitError
from sm120kit.repair.journal import entries
from sm120kit.repair.lock import locked
from sm120kit.repair.transaction import recover, undo


@click.command()
@click.argument("number", metavar="[NUMBER]", required=False, type=click.IntRange(min=1))
@data_dir_option
def command(*, number: int | None, data_dir: str) -> int:
    """Take back a repair exactly: the last one, or the one of that NUMBER (see sm120kit history).

    It refuses, and changes nothing, where someone else changed one of its paths since.
    """
    folder = open_data_dir(data_dir)
    with locked(folder):
        for sentence in recover(folder):
            click.echo(f"sm120kit: {sentence}", err=True)
        applied = [entry for entry in entries(folder) if entry.status == "applied"]
        chosen = next((entry for entry in reversed(applied) if number in (None, entry.record.number)), None)
        if chosen is None:
            which = f"repair {number} is not in place" if number else "no repair is in place"
            raise Sm120kitError(f"{which} in {folder.path}", hint="List them with: sm120kit history")
        undo(chosen)
    write_result(f"Repair {chosen.record.number} of {chosen.record.target} was taken back.\n")
    return GOOD

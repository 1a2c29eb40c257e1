"""``sm120kit logs``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from sm120kit.cli.fleet_name import chosen_fleet, chosen_replica, fleet_argument, replicas_chosen
from sm120kit.cli.output import write_result
from sm120kit.errors import GOOD, TARGET_UNREADABLE, Sm120kitError

if TYPE_CHECKING:
    from sm120kit.fleet.log_files import Tail
    from sm120kit.fleet.types import Fleet, Replica

_LOOK_S = 0.2

EPILOG = """\b
Examples:
  sm120kit logs                        the last lines of every server of the only fleet
  sm120kit logs qwen 3                 of replica 3
  sm120kit logs qwen 3 -f              go on as it writes, over restarts too, until the fleet ends
  sm120kit logs qwen 3 --start 1 -n 500
      of its first start; to have it explained: sm120kit why LOG

Exit codes: 0 good, 2 there is no such fleet, replica or start, 3 a fault of sm120kit itself, 4 a log cannot be read,
130 interrupted.
"""


@click.command(epilog=EPILOG)
@fleet_argument
@replicas_chosen("Only this replica's log")
@click.option("-f", "--follow", is_flag=True, help="Go on as lines are written.")
@click.option(
    "-n",
    "--lines",
    metavar="LINES",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="How many of the last lines.",
)
@click.option("--start", metavar="N", type=click.IntRange(min=1), default=None,
              help="Of this start of the replica, counted from 1; else of the last.")  # fmt: skip
@click.option("--requests", is_flag=True, help="Show the lines of answered requests (HTTP 2xx) too.")
def command(
    *,
    name: str,
    numbers: Sequence[int],
    replicas: Sequence[int],
    follow: bool,
    lines: int,
    start: int | None,
    requests: bool,
) -> int:
    """Show what the servers of a fleet wrote, with control characters made visible and secrets taken out.

    Lines that only say that a request was answered are left out and counted, unless --requests is given.
    """
    if start is not None and follow:
        raise Sm120kitError(
            "--start and -f contradict each other: only the last start goes on", hint="Give one of the two"
        )
    fleet = chosen_fleet(name)
    named = tuple(chosen_replica(fleet, index) for index in dict.fromkeys((*numbers, *replicas)))
    wanted = named or (fleet.replicas if start is None else (chosen_replica(fleet, None),))
    prefix = len(fleet.replicas) > 1
    reading = [_Reading(fleet, each, lines, start, prefix=prefix, requests=requests) for each in wanted]
    _say_rehearsal(fleet)
    try:
        for each in reading:
            each.print(last=not follow)
        while follow and not fleet.ended:
            time.sleep(_LOOK_S)
            fleet = chosen_fleet(fleet.name)
            for each in reading:
                each.move_on(fleet)
                each.print(last=fleet.ended)
    finally:
        for each in reading:
            each.close()
    _say_rehearsal(fleet)
    _say_left_out(sum(each.left_out for each in reading))
    return GOOD


class _Reading:
    """The log of one replica while it is shown."""

    def __init__(
        self, fleet: Fleet, replica: Replica, lines: int, start: int | None, *, prefix: bool, requests: bool
    ) -> None:
        self._index, self._requests = replica.index, requests
        self._left_out_before = 0
        self._prefix = f"replica {replica.index}: " if prefix else ""
        path = _path(fleet, replica, start)
        self._tail: Tail | None = _open(path, lines, requests=requests) if path else None

    @property
    def left_out(self) -> int:
        """Lines of answered requests among those that were read."""
        return self._left_out_before + (self._tail.left_out if self._tail else 0)

    def move_on(self, fleet: Fleet) -> None:
        """Where it was started again, go on with the log of that start."""
        path = next((each.log for each in fleet.replicas if each.index == self._index), "")
        if path and (self._tail is None or path != self._tail.path):
            self.print(last=True)
            self.close()
            self._left_out_before = self.left_out
            self._tail = _open(path, 1 << 62, requests=self._requests)

    def close(self) -> None:
        """Read no more of it."""
        if self._tail:
            self._tail.close()

    def print(self, *, last: bool) -> None:
        """Write what has come since."""
        from sm120kit.redaction import redacted
        from sm120kit.text import visible

        if self._tail:
            lines = self._tail.rest() if last else self._tail.lines()
            text = "".join(f"{self._prefix}{visible(redacted(line))}\n" for line in lines)
            if text:
                write_result(text)


def _path(fleet: Fleet, replica: Replica, start: int | None) -> str:
    """The log that is asked for; empty where it was not started yet."""
    from sm120kit.fleet.log_files import starts

    if start is None:
        return replica.log
    found = starts(fleet, replica)
    if start not in found:
        known = f"{min(found)} to {max(found)}" if found else "none of which a log is kept"
        raise Sm120kitError(f"replica {replica.index} has no start {start}", hint=f"Its starts are {known}")
    return found[start]


def _open(path: str, lines: int, *, requests: bool) -> Tail:
    from sm120kit.engines.sglang.access_lines import is_answered_request
    from sm120kit.fleet.log_files import Tail

    try:
        return Tail(path, lines) if requests else Tail(path, lines, lambda line: not is_answered_request(line))
    except OSError as error:
        raise Sm120kitError(
            f"{path} cannot be read: {error.strerror}",
            hint="Was it moved or removed? A new start writes a new log",
            exit_code=TARGET_UNREADABLE,
        ) from error


def _say_left_out(number: int) -> None:
    if number:
        from sm120kit.cli.live_table import say
        from sm120kit.report.wording import counted

        say(f"sm120kit: {counted(number, 'line')} of answered requests left out; --requests shows them")


def _say_rehearsal(fleet: Fleet) -> None:
    if fleet.rehearsal:
        from sm120kit.report.fleet_words import REHEARSAL

        write_result(f"{REHEARSAL}\n")

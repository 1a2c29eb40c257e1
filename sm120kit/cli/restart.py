"""``sm120kit restart``."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from sm120kit.cli.fleet_name import chosen_fleet, chosen_replica, fleet_argument, replicas_chosen
from sm120kit.cli.live_table import Progress
from sm120kit.cli.output import encoding_of, terminal, write_result
from sm120kit.errors import FINDINGS, GOOD, Sm120kitError

_LOOK_S = 0.1

EPILOG = """\b
Examples:
  sm120kit restart qwen 3
  sm120kit restart qwen 3 5

Exit codes: 0 they are verified again, 1 not, 2 there is no such fleet or replica, 3 a fault of sm120kit itself,
4 no such fleet runs, 130 interrupted (the restart goes on).
"""


@click.command(epilog=EPILOG)
@fleet_argument
@replicas_chosen("Which one")
@click.option("--json", "as_json", is_flag=True, help="Print the data (sm120kit.fleet/1) alone.")  # fmt: skip
def command(*, name: str, numbers: Sequence[int], replicas: Sequence[int], as_json: bool) -> int:
    """End servers of a fleet and start them again; returns when they are verified again. The others go on."""
    from sm120kit.fleet.settled import settled
    from sm120kit.fleet.state import folder_of
    from sm120kit.fleet.supervising import read_fleet, restart

    fleet = chosen_fleet(name)
    wanted = tuple(dict.fromkeys((*numbers, *replicas))) or (chosen_replica(fleet, None).index,)
    before = {index: chosen_replica(fleet, index).restarts for index in wanted}
    restart(folder_of(fleet.name), wanted)
    progress = Progress(seen=fleet)
    while True:
        now = read_fleet(fleet.name)
        if now is None:
            raise Sm120kitError(f"the state of fleet {fleet.name} is gone", hint="Was its folder removed?")
        progress.show(now)
        begun = all(chosen_replica(now, index).restarts > number for index, number in before.items())
        if now.ended or (begun and settled(now, wanted)):
            break
        time.sleep(_LOOK_S)
    progress.clear()
    if as_json:
        from sm120kit.text import encode_json

        write_result(encode_json(now))
    else:
        from sm120kit.report.fleet import render_summary

        width, colour = terminal()
        remarks = [f"replica {index} was started again: {chosen_replica(now, index).state}" for index in wanted]
        text = render_summary(now, time.time(), width=width, colour=colour, encoding=encoding_of(), remarks=remarks)
        write_result(text)
    return GOOD if all(chosen_replica(now, index).state == "verified" for index in wanted) else FINDINGS

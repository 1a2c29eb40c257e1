"""``sm120kit snapshot``."""

from __future__ import annotations

from sm120kit.cli.options import subcommand
from sm120kit.cli.output import write_result
from sm120kit.cli.target_options import Asked, target_options
from sm120kit.cli.text_option import output_option
from sm120kit.errors import GOOD

EPILOG = """\b
Examples:
  sm120kit snapshot -o monday.json
  sm120kit snapshot --pid 4242 -o service.json
  sm120kit doctor --snapshot monday.json        judge it, here or elsewhere
  sm120kit diff monday.json                     compare it with now
"""


@subcommand(epilog=EPILOG)
@target_options(takes_snapshot=False)
@output_option("Write it to this file; else to standard output.")
def command(*, target: Asked, output: str) -> int:
    """Write down everything that the doctor reads, as JSON (sm120kit.snapshot/1).

    Enough to diagnose the target elsewhere. Variables enter by an allow-list: no secret does. It holds paths and
    the names and versions of all packages.
    """
    from sm120kit.snapshot.store import dump_snapshot

    write_result(dump_snapshot(target.read()), output)
    return GOOD

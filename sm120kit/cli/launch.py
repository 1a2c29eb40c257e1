"""``sm120kit launch``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sm120kit.cli.order_options import order_options
from sm120kit.cli.output import write_result
from sm120kit.errors import FINDINGS, GOOD

if TYPE_CHECKING:
    from sm120kit.fleet.order.order import Order

_TYPED = "sm120kit.launch.typed"

EPILOG = """\b
Examples:
  sm120kit launch /models/qwen -- --max-running-requests 46
      one server on each GPU, ports from 30000 on, verified under load; Ctrl-C ends them all
  sm120kit launch --config fleet.toml --detach
      returns when every server is verified; the servers go on
  sm120kit launch --rehearse --fault crash-at-graphs:3:once
      the whole of it against stand-ins, on any machine
  sm120kit launch --print-config > fleet.toml
  sm120kit launch --config fleet.toml --render systemd > /etc/systemd/system/qwen.service

Exit codes: 0 every server is verified at the level asked for, 1 not, or preflight refused, 2 wrong usage, 3 a fault
of sm120kit itself, 4 the target cannot be examined, 130 interrupted, and everything is ended.
"""


class _Launch(click.Command):
    """Keeps the words as they were typed: a unit runs the same ones."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        context.meta[_TYPED] = tuple(args)
        return super().parse_args(context, args)


@click.command(cls=_Launch, epilog=EPILOG)
@order_options
@click.option(
    "--print-config", "printing", is_flag=True, help="Print a commented fleet.toml with what is asked for here."
)
@click.option(
    "--render", type=click.Choice(["systemd"]), default=None, help="Print a unit that runs this same command."
)
@click.option("--json", "as_json", is_flag=True, help="Print the data (sm120kit.fleet/1) alone, at the end.")
@click.option("-v", "--verbose", is_flag=True, help="Show every verdict with its evidence.")
@click.pass_context
def command(
    context: click.Context, *, order: Order, printing: bool, render: str | None, as_json: bool, verbose: bool
) -> int:
    """Start one SGLang server per GPU, and call a server good only after it has answered.

    MODEL is a folder or a name that SGLang resolves; SGLang's own arguments follow after --. What would fail after
    minutes of loading is refused before anything starts. Without --detach the servers run as long as this command.
    """
    if printing:
        from sm120kit.fleet.order.print_config import print_config

        write_result(print_config(order))
        return GOOD
    if render:
        from sm120kit.cli.launch_unit import unit_of

        write_result(unit_of(order, context.meta[_TYPED]))
        return GOOD
    from sm120kit.cli.before_launch import passes, stage
    from sm120kit.cli.interrupts import interruptible
    from sm120kit.cli.standing_by import launch, watch
    from sm120kit.fleet.preparation.prepare import prepare
    from sm120kit.fleet.supervising import attach

    with interruptible():
        prepared = prepare(order)
        running = attach(prepared.spec)
        if running:
            return watch(running, as_json=as_json, verbose=verbose)
        if not passes(prepared, verbose=verbose):
            return FINDINGS
        stage(prepared)
        return launch(prepared.spec, detach=order.detach, as_json=as_json, verbose=verbose)

"""``sm120kit explain``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from sm120kit.cli.check_options import catalogue_of, checks_dir_option, complete_check
from sm120kit.cli.options import subcommand
from sm120kit.cli.output import write_result
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.errors import GOOD
from sm120kit.text import visible


@subcommand()
@click.argument("check_id", metavar="ID", shell_complete=complete_check)
@checks_dir_option
def command(*, check_id: str, checks_dirs: Sequence[str]) -> int:
    """Print the page of one check: what it finds, why it matters, how it is found, what to do, where it is known from.

    \b
    Example:
      sm120kit explain toolkit.nv-target-missing
    """
    write_result(_page(catalogue_of(checks_dirs).get(check_id)))
    return GOOD


def _page(check: Check | LogFailure) -> str:
    lines = [check.id, "", *map(visible, check.page.strip().split("\n"))]
    if check.signatures:
        lines += ["", "## In a log"]
        lines += [f"- {visible(signature.example)}" for signature in check.signatures]
    return "\n".join(lines) + "\n"

"""``sm120kit schema``."""

from __future__ import annotations

import click

from sm120kit.cli.options import subcommand
from sm120kit.cli.output import write_result
from sm120kit.errors import GOOD

_DOCUMENTS = (
    "report",
    "snapshot",
    "comparison",
    "why",
    "proof",
    "plan",
    "repair-plan",
    "fix",
    "history",
    "smoke",
    "toolkits",
    "fleet",
    "environment",
    "checks",
)
"""Those of ``sm120kit.report.schema``, which is not loaded for the sake of completing their names."""


@subcommand()
@click.argument("document", metavar="[DOCUMENT]", type=click.Choice(_DOCUMENTS), default="report")
def command(*, document: str) -> int:
    """Print the JSON Schema of a document that the commands print as data.

    report (doctor --json), snapshot, comparison (diff --json), proof (prove --json), repair-plan (fix --plan-out),
    fleet (launch, status, verify and restart --json), environment (env --shell json); why, plan, fix, history,
    toolkits, smoke and checks are of the command of that name.
    """
    from sm120kit.report.schema import json_schema
    from sm120kit.text import encode_json

    write_result(encode_json(json_schema(document)))
    return GOOD

"""``sm120kit schema``."""

from __future__ import annotations

import click

from sm120kit.cli.output import write_result
from sm120kit.errors import GOOD


@click.command()
@click.argument("document", type=click.Choice(["report", "snapshot", "comparison"]), default="report")
def command(*, document: str) -> int:
    """Print the JSON Schema of a document: report (doctor --json), snapshot, or comparison (diff --json)."""
    from sm120kit.report.schema import json_schema
    from sm120kit.text import encode_json

    write_result(encode_json(json_schema(document)))
    return GOOD

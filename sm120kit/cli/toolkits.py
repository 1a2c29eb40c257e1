"""``sm120kit toolkits``."""

from __future__ import annotations

from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import terminal, write_result
from sm120kit.cli.saying import say
from sm120kit.cli.target_environment import data_dir_option
from sm120kit.data_dir import open_data_dir
from sm120kit.errors import GOOD, Sm120kitError
from sm120kit.repair.journal import cut_off, discard_unwritten
from sm120kit.repair.lock import holder, locked
from sm120kit.repair.transaction import recover
from sm120kit.repair.types import TOOLKITS_SCHEMA, Toolkits, ViewLine
from sm120kit.repair.views import list_views, prune


@subcommand()
@option("--prune", "pruning", is_flag=True, help="Show those that nothing can return to.")
@option("--apply", "apply", is_flag=True, help="With --prune: remove them.")
@option("--json", "as_json", is_flag=True, help="Write it as JSON.")
@data_dir_option
def command(*, pruning: bool, apply: bool, as_json: bool, data_dir: str) -> int:
    """List the toolkits of links that repairs made, what they are made of, and whom they serve.

    One that is live, or that undoing a repair would bring back, is never removed; one whose target was deleted is.
    """
    folder = open_data_dir(data_dir)
    if apply and not pruning:
        raise Sm120kitError("--apply goes with --prune", hint="Give both: sm120kit toolkits --prune --apply")
    if apply:
        with locked(folder):
            for sentence in (*discard_unwritten(folder), *recover(folder)):
                say(sentence)
            lines = prune(folder)
        kept = list_views(folder)
    else:
        for sentence in cut_off(folder, holder(folder)):
            say(sentence)
        kept = list_views(folder)
        lines = tuple(line for line in kept if line.can_go) if pruning else kept
    _write(lines, as_json=as_json, removed=apply, kept=len(kept))
    return GOOD


def _write(lines: tuple[ViewLine, ...], *, as_json: bool, removed: bool, kept: int) -> None:
    if as_json:
        from sm120kit.text import encode_json

        write_result(encode_json(Toolkits(TOOLKITS_SCHEMA, lines)))
        return
    from sm120kit.report.views import render_views

    width, colour = terminal()
    write_result(render_views(lines, removed=removed, kept=kept, width=width, colour=colour))

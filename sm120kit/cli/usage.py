"""What is said of a command line that click refuses: what was found, and what was probably meant."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

_BEHIND_THE_LAST = {
    "stop": "It ends a whole fleet; to end one replica and start it again: sm120kit restart NAME N.",
    "status": "It shows every replica of a fleet; what one of them wrote: sm120kit logs NAME N.",
    "history": "It lists all repairs; to take one of them back: sm120kit undo N.",
}
"""What is said to a word more than a command takes, most often a number, by command."""

_NOT_NEEDED = {
    ("fix", "--dry-run"): "Without --apply it writes nothing.",
    ("fix", "-n"): "Without --apply it writes nothing.",
    ("fix", "-y"): "It asks nothing: --apply carries the plan out.",
    ("fix", "--yes"): "It asks nothing: --apply carries the plan out.",
    ("undo", "-y"): "It asks nothing.",
    ("undo", "--yes"): "It asks nothing.",
}
"""What is said of options that others have for what is so here without them, by command and option."""

_EXTRA = re.compile(r"unexpected extra arguments? \((?P<word>[^ ]+).*\)", re.DOTALL)
_NO_NUMBER = re.compile(r"(?P<word>.*) is not a valid (?P<kind>integer|float)(?: range)?\.?", re.DOTALL)
_OUT_OF_RANGE = re.compile(r"(?P<word>\S+) is not in the range .*", re.DOTALL)


def sentence(error: click.UsageError) -> str:
    """The refusal in one line, without its full stop."""
    if said := _of_number(error):
        return said
    # Newer releases of click append their own guess at what was meant.
    text = error.message if isinstance(error, click.NoSuchOption) else error.format_message()
    text = " ".join(text.split())  # a missing choice is listed with tabs and newlines
    return text[:1].lower() + text[1:].rstrip(".")


def usage_hint(error: click.UsageError, arguments: Sequence[str], path: str) -> str:
    """What to do: the nearest word that is known, what an option is for, and the command whose ``--help`` tells more
    (``path``)."""
    from sm120kit.cli.nearest import nearest_choice, nearest_option

    near = ""
    if isinstance(error, click.NoSuchOption) and error.ctx:
        near = _NOT_NEEDED.get((error.ctx.info_name or "", error.option_name), "") or nearest_option(
            error.option_name, error.ctx.command, error.ctx
        )
    elif isinstance(error, click.BadParameter) and error.param:
        if isinstance(error.param.type, click.Choice):
            near = nearest_choice(error.message, arguments, list(map(str, error.param.type.choices)))
        elif isinstance(error.param, click.Option) and _of_number(error):
            near = (error.param.help or "").partition("  [")[0]
    elif (extra := _EXTRA.search(error.message)) and error.ctx:
        near = _BEHIND_THE_LAST.get(error.ctx.info_name or "", "")
        if not near:
            from sm120kit.cli.extra_word import meant_by

            near = meant_by(extra["word"], error.ctx.command)
    return f"{near} See: {path} --help".strip()


def _of_number(error: click.UsageError) -> str:
    """What is said of an option that takes a number; empty where the error is another one."""
    if not isinstance(error, click.BadParameter) or not isinstance(error.param, click.Option):
        return ""
    name = max(error.param.opts, key=len)
    if no_number := _NO_NUMBER.fullmatch(error.message):
        kind = "a whole number" if no_number["kind"] == "integer" else "a number"
        return f"{name} cannot be {no_number['word']}: it is {kind}"
    outside = _OUT_OF_RANGE.fullmatch(error.message)
    if outside and isinstance(error.param.type, click.IntRange):
        least, most = error.param.type.min, error.param.type.max
        return f"{name} cannot be {outside['word']}: it is {least} {'or more' if most is None else f'to {most}'}"
    return ""

"""What was probably meant by a word of the command line that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from sm120kit.nearest import did_you_mean

_MOST_SHORTENED = 3


def nearest_command(name: str, commands: Sequence[str]) -> str:
    """A sentence with the commands that are spelled like ``name``, else with where they are listed."""
    if name == "help":
        return "See: sm120kit --help, or of one command: sm120kit doctor --help"
    return did_you_mean(name, commands, otherwise="The commands are listed by: sm120kit --help")


def nearest_option(name: str, command: click.Command, context: click.Context) -> str:
    """What ``name`` may have been meant for: an option of the command that is spelled like it, or a flag of SGLang that
    was written before ``--``, shortened as SGLang allows it too; empty where it is neither."""
    parameters = command.get_params(context)
    known = [option for parameter in parameters for option in parameter.opts if option.startswith("-")]
    shortened = [option for option in known if option.startswith(name)]
    if any("SGLANG" in (parameter.metavar or "") for parameter in parameters) and _is_of_sglang(
        name, abbreviated=not shortened
    ):
        written = f"{context.command_path} … -- {name} …"
        return f"{name} belongs to SGLang, whose own arguments follow after -- ({written})."
    if shortened:
        return f"Did you mean {' or '.join(shortened[:_MOST_SHORTENED])}?"
    return did_you_mean(name, (each for each in known if each != name))


def nearest_choice(message: str, arguments: Iterable[str], choices: Sequence[str]) -> str:
    """A sentence with the choices that the word is spelled like which ``message`` refuses.

    It is taken from the command line, ``--option=word`` too. Other words there may be like a choice as well, such as
    the option's own name.
    """
    words = [word for argument in arguments if repr(word := argument.rpartition("=")[2]) in message]
    said = (did_you_mean(word, choices) for word in words if word not in choices)
    return next(filter(None, said), "")


def _is_of_sglang(name: str, *, abbreviated: bool) -> bool:
    from sm120kit.engines.sglang.flags import begins_one, seen_in

    return bool(seen_in(name)) or (abbreviated and begins_one(name))

"""What was probably meant by a word of the command line that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from sm120kit.nearest import did_you_mean

_MOST_SHORTENED = 3
_MOST_COMMANDS = 4


def nearest_command(name: str, commands: Sequence[str], following: str = "") -> str:
    """A sentence with the commands that are spelled like ``name``, else with where they are listed. ``following`` is
    the word behind it."""
    if name == "help":
        if following in commands:
            return f"See: sm120kit {following} --help"
        return "See: sm120kit --help, or of one command: sm120kit doctor --help"
    return did_you_mean(name, commands, otherwise="The commands are listed by: sm120kit --help")


def nearest_option(name: str, command: click.Command, context: click.Context) -> str:
    """What ``name`` may have been meant for: an option of the command that is spelled like it, one of another command,
    or a flag of SGLang that was written before ``--``, shortened as SGLang allows it too; empty where it is none."""
    parameters = command.get_params(context)
    known = [option for parameter in parameters for option in parameter.opts if option.startswith("-")]
    shortened = [option for option in known if option.startswith(name)]
    others = _commands_with(name, context)
    elsewhere = f"{name} is an option of {others}." if others else ""
    of_sglang = ""
    if any("SGLANG" in (parameter.metavar or "") for parameter in parameters) and _is_of_sglang(
        name, abbreviated=not (shortened or elsewhere)
    ):
        written = f"{context.command_path} … -- {name} …"
        of_sglang = f"{name} belongs to SGLang, whose own arguments follow after -- ({written})."
    if of_sglang or (elsewhere and not shortened):
        return f"{elsewhere} {of_sglang}".strip()
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


def _commands_with(name: str, context: click.Context) -> str:
    """The commands of ours that have the option ``name``, as words of a sentence."""
    root = context.find_root().command
    if not isinstance(root, click.Group):
        return ""
    found = []
    for each in root.list_commands(context):
        command = root.get_command(context, each)
        shown = command.params if command else ()
        if any(name in parameter.opts and not getattr(parameter, "hidden", False) for parameter in shown):
            found.append(f"sm120kit {each}")
    if len(found) > _MOST_COMMANDS:
        found[_MOST_COMMANDS - 1 :] = ["others"]
    return " and ".join(filter(None, (", ".join(found[:-1]), *found[-1:])))


def _is_of_sglang(name: str, *, abbreviated: bool) -> bool:
    from sm120kit.engines.sglang.flags import begins_one, seen_in

    return bool(seen_in(name)) or (abbreviated and begins_one(name))

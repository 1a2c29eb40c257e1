"""Options of this call as they would be typed once more, for commands that a report names."""

from __future__ import annotations

import shlex
from collections.abc import Collection

import click
from click.core import ParameterSource

from sm120kit.report.remedies import Again

TARGET = (
    "python",
    "site_packages",
    "cuda_home",
    "no_system_toolkits",
    "env_file",
    "pid",
    "gpu",
    "driver",
    "deep",
    "data_dir",
)
"""Parameters that every command about a target takes that runs or writes something."""

_NOTHING_RUNS = ("root", "image_archive", "snapshot")

JUDGING = (*TARGET, *_NOTHING_RUNS, "only", "skip", "suppressions", "checks_dirs", "model", "sglang")
"""Parameters by which the doctor comes to its report."""


def typed_again(names: Collection[str]) -> str:
    """The options among ``names`` that were given, quoted for a shell, with a space before each; empty = none were."""
    context = click.get_current_context()
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in names and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            words += _words(parameter.opts[-1], context.params[name])
    return "".join(f" {shlex.quote(word)}" for word in words)


def examined_again() -> Again:
    """The commands that go on from a report of the target named in this call.

    SGLang's own arguments are not repeated, only that there were some: a key may be among them.
    """
    options = typed_again(JUDGING)
    launch = " -- ..." if click.get_current_context().params.get("sglang_arguments") else ""
    no_repair = typed_again(_NOTHING_RUNS)
    repair = "" if no_repair else f"sm120kit fix{typed_again(TARGET)}"
    return Again(
        repair,
        f"sm120kit doctor{options} -v{launch}",
        f"sm120kit prove{typed_again(TARGET)}",
        typed_again(("checks_dirs",)),
    )


def _words(option: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [option] if value else []
    values = value if isinstance(value, (tuple, list)) else (value,)
    return [word for each in values for word in (option, str(each))]

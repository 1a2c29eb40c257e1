"""The systemd unit of a launch as it was typed: its words, its folder, its user, and the variables that steer it."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Sequence

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.options import OPTIONS
from sm120kit.fleet.order.order import Order
from sm120kit.fleet.order.unit import Unit, render_unit, without_secrets
from sm120kit.fleet.preparation.make_spec import name_of
from sm120kit.fleet.state import fleets_home
from sm120kit.snapshot.variables import kept_variables

_OTHERS = ("HF_ENDPOINT", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "LANG", "LC_ALL", "TRANSFORMERS_OFFLINE")
"""Variables beside those of a snapshot without which the same words would mean something else."""


def unit_of(order: Order, typed: Sequence[str]) -> str:
    """The unit.

    Raises:
        Sm120kitError: the command cannot be a service, would show a secret, or holds what systemd cannot carry.
    """
    if order.detach:
        raise Sm120kitError(
            "--detach does not go with --render: a service stays with its servers, and ends with them",
            hint="Leave it out; in a fleet.toml set detach = false",
        )
    environment = {
        **kept_variables(os.environ),
        **{name: os.environ[name] for name in _OTHERS if name in os.environ},
        "XDG_STATE_HOME": os.path.dirname(os.path.dirname(fleets_home())),
    }
    return render_unit(
        Unit(
            name=order.name or (name_of(order.model, rehearsal=order.rehearse) if order.model else "sglang"),
            rehearsal=order.rehearse,
            command=(*_program(), "launch", *_with_whole_paths(_without_render(typed))),
            folder=os.getcwd(),
            user=pwd.getpwuid(os.getuid()).pw_name,
            environment=without_secrets(environment),
            drain_s=order.limits.drain,
        )
    )


_PATHS = ("--config", *(option.flag for option in OPTIONS if option.kind == "path"))
_VALUED = (*_PATHS, "--render", *(option.flag for option in OPTIONS if option.flag and option.kind != "switch"))


def _with_whole_paths(words: Sequence[str]) -> tuple[str, ...]:
    """The words with paths from the root on: a unit is read where nobody knows the folder it was rendered in. SGLang's
    own arguments stay, and are found from the unit's folder."""
    end = words.index("--") if "--" in words else len(words)
    made: list[str] = []
    before = ""
    model_named = False
    for word in words[:end]:
        flag, equals, value = word.partition("=")
        if before in _PATHS:
            made.append(_whole(before, word))
        elif equals and flag in _PATHS:
            made.append(f"{flag}={_whole(flag, value)}")
        elif not word.startswith("-") and before not in _VALUED and not model_named:
            model_named = True
            path = os.path.abspath(os.path.expanduser(word))
            made.append(path if word.startswith(("./", "../", "~/")) or os.path.exists(path) else word)
        else:
            made.append(word)
        before = word if before not in _VALUED else ""
    return (*made, *words[end:])


def _whole(flag: str, path: str) -> str:
    """From the root on; an interpreter without a slash is looked for on PATH."""
    return path if flag == "--python" and "/" not in path else os.path.abspath(os.path.expanduser(path))


def _program() -> tuple[str, ...]:
    """This very program: the script beside our interpreter, where there is one."""
    script = os.path.join(os.path.dirname(sys.executable), "sm120kit")
    return (script,) if os.access(script, os.X_OK) else (sys.executable, "-m", "sm120kit")


def _without_render(typed: Sequence[str]) -> tuple[str, ...]:
    """The words without ``--render`` and ``--json``, which a service has no use for; after ``--`` they are SGLang's."""
    end = typed.index("--") if "--" in typed else len(typed)
    kept: list[str] = []
    skip = False
    for word in typed[:end]:
        if skip:
            skip = False
        elif word == "--render":
            skip = True
        elif word != "--json" and not word.startswith("--render="):
            kept.append(word)
    return (*kept, *typed[end:])

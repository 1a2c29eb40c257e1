"""The target of a saved plan: the options that named it, and what is typed beside the plan's file."""

from __future__ import annotations

import os
import shlex

import msgspec
from msgspec.structs import replace

from sm120kit.cli.target_options import Asked
from sm120kit.data_dir import open_data_dir
from sm120kit.errors import Sm120kitError
from sm120kit.repair.types import Naming, Plan
from sm120kit.snapshot.target import TargetOptions
from sm120kit.snapshot.types.snapshot import Target

_BY_PLACE = ("python", "site_packages")
"""One environment has many spellings of these: whether it is the plan's is told by the place they lead to."""


def naming(asked: Asked, target: Target) -> Naming:
    """The options by which another call, from another folder or shell, finds the ``target`` that was read."""
    return replace(
        _typed(asked), python=target.path if target.kind == "interpreter" else "", cuda_home=target.cuda_home
    )


def asked_for(plan: Plan, path: str, typed: Asked, data_dir: str) -> Asked:
    """The target of the plan saved at ``path``. What was typed beside it may repeat what the plan says.

    Raises:
        Sm120kitError: it contradicts the plan; exit code 2.
    """
    named, given = plan.named_by, _typed(typed)
    for name in _BY_PLACE:
        if place := getattr(given, name):
            named = replace(named, **{**dict.fromkeys(_BY_PLACE, ""), name: place})
    differing = [
        f"{_words(name, now)} where the plan has {_words(name, planned) if planned else 'none'}"
        for name, now, planned in _compared(given, named)
        if now and now != planned
    ]
    if data_dir and open_data_dir(data_dir).path != plan.data_dir:
        differing.append(f"--data-dir {data_dir} where the plan has --data-dir {plan.data_dir}")
    if differing:
        raise Sm120kitError(
            f"{path} was made for another target: {'; '.join(differing)}",
            hint="Leave these options out to apply it, or make a plan for this target: sm120kit fix --plan-out FILE",
        )
    return Asked(
        TargetOptions(
            python=named.python,
            site_packages=named.site_packages,
            cuda_home=named.cuda_home,
            system_toolkits=not named.no_system_toolkits,
            env_file=named.env_file,
            pid=named.pid,
            ask_driver=not named.gpu,
            deep=named.deep,
        ),
        named.gpu,
        named.driver,
    )


def typed_for(plan: Plan) -> str:
    """The options of the plan's target as they are typed for another command, with a space before each."""
    named = {**msgspec.structs.asdict(plan.named_by), "data_dir": plan.data_dir}
    return "".join(f" {_words(name, value)}" for name, value in named.items() if value)


def _typed(asked: Asked) -> Naming:
    options = asked.options
    return Naming(
        python=_absolute(options.python) if "/" in options.python else options.python,
        site_packages=_absolute(options.site_packages),
        cuda_home=_absolute(options.cuda_home),
        no_system_toolkits=not options.system_toolkits,
        env_file=_absolute(options.env_file),
        pid=options.pid,
        gpu=asked.gpu,
        driver=asked.driver,
        deep=options.deep,
    )


def _absolute(path: str) -> str:
    return os.path.abspath(path) if path else ""


def _compared(given: Naming, planned: Naming) -> list[tuple[str, str | int | bool, str | int | bool]]:
    names = [name for name in msgspec.structs.asdict(given) if name not in _BY_PLACE]
    return [(name, getattr(given, name), getattr(planned, name)) for name in names]


def _words(name: str, value: str | bool | int) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if value is True else f"{option} {shlex.quote(str(value))}"

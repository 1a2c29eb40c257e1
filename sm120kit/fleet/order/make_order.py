"""From options and a fleet.toml to an :class:`~sm120kit.fleet.order.order.Order`. Pure."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.fleet_file import FleetFile
from sm120kit.fleet.order.mixed_up import refuse_mixed_up
from sm120kit.fleet.order.options import OPTIONS, Option
from sm120kit.fleet.order.order import Order
from sm120kit.text import visible

OF_THE_FLEET = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "SM120KIT_FLEET",
    "TMPDIR",
)
"""Variables that the fleet sets itself for every server."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ADDRESS = re.compile(r"[0-9A-Za-z.:%_-]+")


def make_order(given: Mapping[str, Any], arguments: Sequence[str] = (), file: FleetFile | None = None) -> Order:
    """The order that options and a file come to; what was typed counts more than what the file says.

    ``given`` holds the options by :attr:`Option.parameter`, as they were typed: ``None`` or an empty list = not given.
    ``environment`` may be a mapping or words ``NAME=VALUE``. ``arguments`` are SGLang's, as typed.

    Raises:
        Sm120kitError: a value is none that can be; exit code 2.
    """
    made: dict[str, Any] = {}
    for option in OPTIONS:
        typed = given.get(option.parameter)
        from_file = (file.values if file else {}).get(option.key)
        if typed is None or typed in ((), []):
            value = from_file
        else:
            value = _typed(option, typed)
            if option.kind == "variables":
                value = {**(from_file or {}), **value}
        if value is not None:
            _put(made, option.field, value)
    made["arguments"] = (*_not_typed_again(file.arguments if file else (), arguments), *arguments)
    order = msgspec.convert(made, Order)
    _check(order)
    refuse_mixed_up(order, [option for option in OPTIONS if given.get(option.parameter) not in (None, "", (), [])])
    return order


def _put(made: dict[str, Any], field: tuple[str, ...], value: Any) -> None:
    for name in field[:-1]:
        made = made.setdefault(name, {})
    made[field[-1]] = value


def _typed(option: Option, value: Any) -> Any:
    match option.kind:
        case "variables":
            return value if isinstance(value, Mapping) else dict(_variable(each) for each in value)
        case "path":
            named = value and (option.key != "target.python" or "/" in value)  # python3 is looked for on PATH
            return os.path.abspath(os.path.expanduser(value)) if named else value
        case "texts":
            return tuple(value)
        case "count" | "seconds" | "gib" if not math.isfinite(value) or not option.least <= value <= option.most:
            raise Sm120kitError(f"{option.flag} cannot be {value:g}: it is {option.range}", hint=option.help)
        case "choice" if value not in option.choices:
            raise Sm120kitError(
                f"{option.flag} cannot be {visible(value)!r}", hint=f"Take {' or '.join(option.choices)}"
            )
    return value


def _variable(words: str) -> tuple[str, str]:
    name, equals, value = words.partition("=")
    if not equals:
        raise Sm120kitError(f"--variable {visible(name)} sets nothing", hint="Write it as NAME=VALUE")
    return name, value


def _not_typed_again(file: Sequence[str], typed: Sequence[str]) -> list[str]:
    """The file's arguments without the flags that were typed too, by their spelling."""
    again = {word.partition("=")[0] for word in typed if word.startswith("--")}
    kept: list[str] = []
    leaving = False
    for word in file:
        if word.startswith("--"):
            leaving = word.partition("=")[0] in again
        if not leaving:
            kept.append(word)
    return kept


def _check(order: Order) -> None:
    """Refuse what no launch can mean."""
    if order.name and not _NAME.fullmatch(order.name):
        raise Sm120kitError(
            f"{visible(order.name)!r} is no name for a fleet",
            hint="Take up to 64 letters, digits, dots, dashes and underscores, as in: --name qwen-27b",
        )
    if not _ADDRESS.fullmatch(order.host):
        raise Sm120kitError(f"--host {visible(order.host)!r} is no address", hint="Give one, as in 127.0.0.1 or ::1")
    if order.api_key_file and order.api_key_variable:
        raise Sm120kitError("--api-key-file and --api-key-variable contradict each other", hint="Give one of the two")
    if not order.gpus.strip():
        raise Sm120kitError("--gpus names no GPU", hint="Write all, none, or a list such as 0,2")
    for name, value in order.environment.items():
        _check_variable(name, value)
    if any("\0" in word for word in (order.model, *order.arguments)):
        raise Sm120kitError("an argument holds a NUL character, which no program can be given")


def _check_variable(name: str, value: str) -> None:
    if not _VARIABLE.fullmatch(name):
        raise Sm120kitError(f"{visible(name)!r} is no name of a variable", hint="Write it as NAME=VALUE")
    if "\0" in value:
        raise Sm120kitError(f"the variable {name} holds a NUL character, which no environment can hold")
    if name in ("CUDA_HOME", "CUDA_PATH"):
        raise Sm120kitError(
            f"{name} decides which toolkit is judged and used, so it is no mere variable", hint="Give --cuda-home DIR"
        )
    if name in OF_THE_FLEET:
        raise Sm120kitError(
            f"{name} is set for every server by the fleet itself",
            hint="Choose GPUs with --gpus" if name.startswith("CUDA") else "Leave it out",
        )

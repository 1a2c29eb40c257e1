"""Writes a commented fleet.toml."""

from __future__ import annotations

import json
from typing import Any

from sm120kit.engines.sglang.arguments import SECRET_SETTINGS, secrets_in, without
from sm120kit.fleet.order.options import BY_KEY, OPTIONS, Option
from sm120kit.fleet.order.order import Order
from sm120kit.redaction import redacted
from sm120kit.text import unseen_escaped

_HEAD = """\
# What sm120kit launch is asked for. Options on the command line count more than what stands here. Every value below
# is the default."""

_SGLANG = """\
# SGLang's own arguments, as words that would be typed: ["--tp-size", "2"]. In place of this line there may be a table
# at the end of the file, of flags without their --; true is for flags that take no value:
#   [sglang]
#   max-running-requests = 46
#   trust-remote-code = true"""


def print_config(order: Order | None = None) -> str:
    """A fleet.toml that asks for ``order``, else for the defaults. Secrets in it are left out, and it says so."""
    asked = order or Order()
    lines = [_HEAD if asked == Order() else _HEAD.partition(" Every")[0]]
    for option in OPTIONS:
        if "." not in option.key and option.kind != "variables":
            lines += ["", *_entry(option, asked)]
    lines += ["", *_arguments(asked)]
    for table in dict.fromkeys(option.key.partition(".")[0] for option in OPTIONS if "." in option.key):
        lines += ["", f"[{table}]"]
        for option in OPTIONS:
            if option.key.startswith(f"{table}."):
                lines += _entry(option, asked)
    lines += ["", "[environment]", f"# {BY_KEY['environment'].help}", *_environment(asked.environment)]
    return "\n".join(lines) + "\n"


def _entry(option: Option, order: Order) -> list[str]:
    choices = f" One of: {', '.join(option.choices)}." if option.choices else ""
    return [f"# {option.help}{choices}", f"{option.key.rpartition('.')[2]} = {_toml(option.value_in(order))}"]


def _arguments(order: Order) -> list[str]:
    secret = secrets_in(order.arguments, "")
    words = without(order.arguments, SECRET_SETTINGS, "")
    left_out = [f"# --{name.replace('_', '-')} was given and is not printed: a secret." for name in secret]
    return [_SGLANG, *left_out, f"sglang = {_toml(words)}"]


def _environment(variables: dict[str, str]) -> list[str]:
    lines = []
    for name, value in variables.items():
        plain = f"{name}={value}"
        if redacted(plain) == plain:
            lines.append(f"{_toml(name)} = {_toml(value)}")
        else:
            lines.append(f"# {_toml(name)} was given and is not printed: it looks like a secret.")
    return lines


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # TOML's basic strings are JSON's, but for the delete character, and for characters given as two halves.
        return unseen_escaped(json.dumps(value, ensure_ascii=False))
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(each) for each in value)}]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return repr(value)

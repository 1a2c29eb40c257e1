"""How each dialect writes a value, and which values it cannot carry.

Every function takes the variable's name (for the message) and returns the value quoted, such that the reader gets
exactly the value back. A byte that is not UTF-8 is a surrogate escape here, as in ``os.environ``.
"""

from __future__ import annotations

import re

from sm120kit.errors import USAGE, Sm120kitError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NONCHARACTER = re.compile("[\ufdd0-\ufdef" + "".join(map(chr, range(0xFFFE, 0x110000, 0x10000)))
                           + "".join(map(chr, range(0xFFFF, 0x110000, 0x10000))) + "]")  # fmt: skip
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


def check_name(name: str) -> str:
    """``name``, which goes unquoted into every dialect.

    Raises:
        Sm120kitError: it is no name that a shell could set.
    """
    if _NAME.fullmatch(name) is None:
        raise Sm120kitError(f"{name!r} is not the name of a variable", exit_code=USAGE)
    return name


def check_folder(name: str, folder: str) -> str:
    """``folder``, an entry of a list that is separated by colons.

    Raises:
        Sm120kitError: it is empty or holds a colon, so it cannot stand in such a list.
    """
    if not folder or ":" in folder:
        raise Sm120kitError(
            f"{name} cannot name the folder {folder!r}: its entries are separated by colons",
            hint="Give the folder another name, or a link without a colon",
        )
    return folder


def quote_sh(name: str, value: str) -> str:
    """For sh, dash, bash, zsh: between single quotes everything stands for itself but the quote (POSIX 2.2.2)."""
    _refuse(name, value, "sh", "\0", "a NUL byte")
    return "'" + value.replace("'", "'\\''") + "'"


def quote_fish(name: str, value: str) -> str:
    """For fish: between single quotes only ``\\'`` and ``\\\\`` are escapes."""
    _refuse(name, value, "fish", "\0", "a NUL byte")
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quote_systemd(name: str, value: str) -> str:
    """For EnvironmentFile= (systemd.exec(5)): double quotes, in which ``\\`` escapes ``"``, ``\\``, ``$`` and `` ` ``.

    Raises:
        Sm120kitError: systemd would drop the variable: the value is not UTF-8, or holds a control character other
            than tab and line break, or a code point that Unicode keeps for no character.
    """
    _refuse(name, value, "systemd", _SURROGATE, "bytes that are not UTF-8")
    _refuse(name, value, "systemd", _CONTROL, "a control character")
    _refuse(name, value, "systemd", _NONCHARACTER, "a code point that is no character")
    return '"' + re.sub(r'(["\\$`])', r"\\\1", value) + '"'


def quote_docker(name: str, value: str) -> str:
    """For ENV in a Dockerfile: double quotes, in which ``\\`` escapes ``"``, ``\\`` and ``$``.

    Raises:
        Sm120kitError: a Dockerfile cannot carry the value: it holds a line break or is not UTF-8.
    """
    _refuse(name, value, "docker", _SURROGATE, "bytes that are not UTF-8")
    _refuse(name, value, "docker", re.compile("[\0\n\r]"), "a line break or NUL byte")
    return '"' + re.sub(r'(["\\$])', r"\\\1", value) + '"'


def quote_inside_docker(name: str, value: str) -> str:
    """``value`` without quotes, as a part of a value in double quotes and of the word in ``${NAME:-word}``.

    Raises:
        Sm120kitError: as :func:`quote_docker`.
    """
    return re.sub("(['}])", r"\\\1", quote_docker(name, value)[1:-1])


def check_json(name: str, value: str) -> str:
    """``value``, if JSON can carry it.

    Raises:
        Sm120kitError: it is not UTF-8.
    """
    _refuse(name, value, "json", _SURROGATE, "bytes that are not UTF-8")
    return value


def _refuse(name: str, value: str, dialect: str, forbidden: str | re.Pattern[str], what: str) -> None:
    if re.search(forbidden, value):
        raise Sm120kitError(
            f"{name} cannot be written for {dialect}: its value {value!r} holds {what}",
            hint="Give the folder that it names another name"
            + ("" if dialect in ("sh", "fish") else ", or take another --shell: sh and fish carry it"),
        )

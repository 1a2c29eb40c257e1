"""Text that leaves the program: JSON in UTF-8 whatever a file was called, and control characters made visible."""

from __future__ import annotations

import re

import msgspec

_SURROGATE = "[\ud800-\udfff]"

_UNSEEN = "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
"""Terminal control characters, those that turn the direction of writing or show nothing, and lone surrogates.
Neither pattern is compiled before it is used: most runs print JSON and need none."""


def encode_json(value: object) -> bytes:
    """``value`` as indented JSON in UTF-8, ending with a newline.

    A path that is not UTF-8 holds surrogate escapes, which JSON cannot carry: such a byte is written as ``\\xff``.
    """
    try:
        raw = msgspec.json.encode(value)
    except UnicodeEncodeError:
        raw = msgspec.json.encode(_utf8_data(msgspec.to_builtins(value)))
    return msgspec.json.format(raw, indent=2) + b"\n"


def utf8_text(text: str) -> str:
    """``text`` with each surrogate replaced by what it stands for, as ``\\xff``."""
    return text if text.isascii() else re.sub(_SURROGATE, _escaped, text)


def visible(text: str) -> str:
    """``text`` on one line, with nothing in it that a terminal would obey: ``\\x1b``, ``\\n``, ``\\u202e``."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_UNSEEN, _escaped, text)


def unseen_escaped(text: str) -> str:
    """``text`` with what :func:`visible` escapes as ``\\u202e``, which TOML and JSON read in their strings."""
    return re.sub(_UNSEEN, lambda match: f"\\u{ord(match[0]):04x}", text)


def copyable(command: str, encoding: str = "utf-8") -> str:
    """A shell command on one line, to be copied from a place that shows text in ``encoding``.

    What :func:`visible` would escape, or the encoding cannot hold, stands as ``$'\\303\\251'``: bash, zsh and busybox
    read that as the very bytes, between words and between quotes.
    """
    if command.isascii() and command.isprintable():
        return command
    made: list[str] = []
    quote = ""
    position = 0
    while position < len(command):
        character = command[position]
        end = position + 1
        if _is_plain(character, encoding):
            if quote != "'" and character == "\\" and end < len(command) and _is_plain(command[end], encoding):
                end += 1
            elif character == quote:
                quote = ""
            elif not quote and character in "'\"":
                quote = character
            made.append(command[position:end])
        else:
            while end < len(command) and not _is_plain(command[end], encoding):
                end += 1
            raw = b"".join(map(_bytes, command[position:end]))
            made.append(f"{quote}$'{''.join(f'{chr(92)}{byte:03o}' for byte in raw)}'{quote}")
        position = end
    return "".join(made)


def _bytes(character: str) -> bytes:
    """The byte that a surrogate escape stands for; any other character as UTF-8, halves of one included."""
    escape = "\udc80" <= character <= "\udcff"
    return character.encode("utf-8", "surrogateescape" if escape else "surrogatepass")


def _is_plain(character: str, encoding: str) -> bool:
    if " " <= character <= "~":
        return True
    if re.match(_UNSEEN, character):
        return False
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code in (0x09, 0x0A, 0x0D):
        return {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}[code]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _utf8_data(value: object) -> object:
    if isinstance(value, str):
        return utf8_text(value)
    if isinstance(value, dict):
        return {_utf8_data(key): _utf8_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_utf8_data(item) for item in value]
    return value

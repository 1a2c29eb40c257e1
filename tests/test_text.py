"""Text that leaves the program."""

from __future__ import annotations

import json
import shlex

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sm120kit.text import copyable, encode_json, utf8_text, visible


class _Named(msgspec.Struct):
    path: str
    owners: dict[str, tuple[str, ...]] = {}


def test_a_byte_that_is_no_utf8_is_written_as_its_number() -> None:
    name = b"/opt/caf\xe9".decode("utf-8", "surrogateescape")
    data = json.loads(encode_json(_Named(name, {name: (name, "well")})))
    assert data == {"path": "/opt/caf\\xe9", "owners": {"/opt/caf\\xe9": ["/opt/caf\\xe9", "well"]}}
    assert utf8_text(name) == "/opt/caf\\xe9"


def test_what_is_utf8_is_written_as_it_is() -> None:
    assert json.loads(encode_json(_Named("/opt/café"))) == {"path": "/opt/café", "owners": {}}


@given(st.text())
def test_json_of_any_text_can_be_read(text: str) -> None:
    assert json.loads(encode_json(_Named(text)))["path"] == utf8_text(text)


def test_controls_are_made_visible() -> None:
    assert visible("a\x1b[31mred\x07\n\tb\x9b\u202eabc\x7f") == "a\\x1b[31mred\\x07\\n\\tb\\x9b\\u202eabc\\x7f"


@given(st.text(st.characters(codec=None)))
def test_visible_text_is_printable_or_space(text: str) -> None:
    shown = visible(text)
    assert "\x1b" not in shown
    assert "\n" not in shown
    shown.encode()


def test_a_command_keeps_its_words() -> None:
    assert copyable("a 'é' \"é\" é \\' é") == "a 'é' \"é\" é \\' é"
    assert copyable("'é' \"é\" é", "ascii") == r"""''$'\303\251''' ""$'\303\251'"" $'\303\251'"""
    assert copyable("rm 'a\nb\udce9'") == r"rm 'a'$'\012''b'$'\351'''"

    assert copyable("\ud800\udce9") == r"$'\355\240\200\351'"


@given(st.text(st.characters(codec="utf-8")))
def test_a_copyable_command_is_visible_and_stays(text: str) -> None:
    command = copyable(f"ls {shlex.quote(text)}", "ascii")
    assert visible(command) == command
    assert command.isascii()
    assert copyable(command, "ascii") == command

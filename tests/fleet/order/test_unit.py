"""The systemd unit of a launch, read back by systemd itself."""

from __future__ import annotations

import ctypes
import glob
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.unit import Unit, render_unit, without_secrets
from tests.programs import MISSING_PROGRAM, give_up, require_program

Split = Callable[[str], list[str]]

VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


def unit(*arguments: str, **more: object) -> Unit:
    """A unit that runs this interpreter with these arguments."""
    values: dict[str, object] = {
        "name": "qwen",
        "command": (sys.executable, *arguments),
        "folder": "/srv",
        "user": "root",
        "environment": {"PATH": "/usr/bin"},
        "drain_s": 30,
    }
    return Unit(**{**values, **more})  # type: ignore[arg-type]


def line(text: str, setting: str) -> str:
    """What stands after ``setting``."""
    return next(each.partition("=")[2] for each in text.split("\n") if each.startswith(f"{setting}="))


@pytest.fixture(scope="module")
def split() -> Split:
    """systemd's own splitting of a command line into words."""
    libraries = glob.glob("/usr/lib/*/systemd/libsystemd-shared-*.so") + glob.glob(
        "/usr/lib/systemd/libsystemd-shared-*.so"
    )
    if not libraries:
        give_up(MISSING_PROGRAM + "systemd")
    function = ctypes.CDLL(libraries[0]).strv_split_full
    strings = ctypes.POINTER(ctypes.c_char_p)
    function.argtypes = [ctypes.POINTER(strings), ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]

    def words(text: str, flags: int) -> list[str]:
        found = strings()
        number = function(ctypes.byref(found), text.encode(), b" \t\n\r", flags)
        return [(found[each] or b"").decode() for each in range(max(number, 0))]

    # The numbers of the flags for quotes and escapes differ between releases.
    bits = [1 << each for each in range(9)]
    flags = next(
        one | two for one, two in itertools.combinations(bits, 2) if words(r'"a b\x41" c', one | two) == ["a bA", "c"]
    )
    return lambda text: words(text, flags)


def read_back(words: list[str]) -> list[str]:
    """The words as the program gets them: after specifiers and variables were put in (systemd.service(5))."""
    first, *others = (word.replace("%%", "%") for word in words)
    return [first, *(word.replace("$$", "$") for word in others)]


@given(st.lists(VALUES, max_size=5))
def test_systemd_reads_the_very_arguments(split: Split, arguments: list[str]) -> None:
    command = line(render_unit(unit(*arguments)), "ExecStart")
    assert read_back(split(command)) == [sys.executable, *arguments]


@given(VALUES)
def test_systemd_reads_the_very_variables(split: Split, value: str) -> None:
    said = line(render_unit(unit(environment={"NAME": value})), "Environment")
    assert [each.replace("%%", "%") for each in split(said)] == [f"NAME={value}"]


def test_every_dollar_and_percent_is_escaped() -> None:
    command = line(render_unit(unit("100%", "$HOME", "${X}", ";")), "ExecStart")
    assert command == f'"{sys.executable}" "100%%" "$$HOME" "$${{X}}" ";"'


@pytest.mark.parametrize("arguments", [(), ("launch", "/models/a b", "--name", "50%", "--", "--x", '{"a": "$1"}')])
def test_systemd_takes_it(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    require_program("systemd-analyze")
    file = tmp_path / "fleet.service"
    file.write_text(render_unit(unit(*arguments, folder=str(tmp_path))))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert [each for each in done.stderr.splitlines() if "fleet.service" in each] == []
    assert done.returncode == 0, done.stderr


def test_systemd_would_say_what_it_does_not_know(tmp_path: Path) -> None:
    require_program("systemd-analyze")
    file = tmp_path / "fleet.service"
    file.write_text(render_unit(unit()).replace("KillMode=mixed", "KillMode=nothing"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert "fleet.service" in done.stderr


def test_what_it_promises() -> None:
    text = render_unit(unit(drain_s=12.5))
    assert "Type=notify\n" in text
    assert "TimeoutStartSec=infinity\n" in text
    assert "TimeoutStopSec=43\n" in text
    assert "OOMPolicy=continue\n" in text
    assert "RestartPreventExitStatus=2\n" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("--", "--api-key", "correct horse"),
        ("--", "--api-key=abc123def"),
        ("--variable", "HF_TOKEN=hf_abcdefgh12345678"),
        ("--", "--admin-api-key", "abc"),
    ],
)
def test_a_secret_is_refused_and_not_repeated(arguments: tuple[str, ...]) -> None:
    with pytest.raises(Sm120kitError, match="secret") as refused:
        render_unit(unit("launch", "/models/qwen", *arguments))
    assert arguments[-1].partition("=")[2] not in refused.value.message or "=" not in arguments[-1]
    assert "--api-key-file" in refused.value.hint


def test_of_the_environment_no_secret_is_taken() -> None:
    assert without_secrets({"PATH": "/bin", "SGLANG_API_KEY": "abcdef", "X": "hf_abcdefgh12345678"}) == {"PATH": "/bin"}


@pytest.mark.parametrize("text", ["/srv/\udcff", "/srv/a\nb", "/srv/a\\", "/srv/ "])
def test_a_folder_that_a_unit_cannot_name_is_refused(text: str) -> None:
    with pytest.raises(Sm120kitError):
        render_unit(unit(folder=text))

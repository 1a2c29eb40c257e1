"""Values of every kind, written by us and read by the real thing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sm120kit.environment import SHELLS, Environment, Shell, Variable, render
from sm120kit.environment.dialects import quote_docker
from sm120kit.errors import Sm120kitError
from tests.environment.readers import FISH, read_systemd, run_shell

_SPECIAL = st.sampled_from(
    ["$HOME", "${x:-y}", "`id`", "$(id)", "\\", "\\\\", "\\n", "'", '"', "\n", "\r\n", "\t", " ", *"#;=%!~*é漢\u2028"]
)
_TEXT = st.one_of(
    st.lists(_SPECIAL | st.text("ab/", max_size=2), max_size=8).map("".join),
    st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), max_size=12),
)
_ANY = st.one_of(_TEXT, st.binary(max_size=12).map(lambda raw: os.fsdecode(raw.replace(b"\0", b""))))
_FEW = settings(
    max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def environment(values: list[str]) -> Environment:
    """One variable for each value, the value in its reason too: comments must not spill either."""
    variables = tuple(Variable(f"V{place}", "set", f"Is {value}", value) for place, value in enumerate(values))
    return Environment("/venv/bin/python", "", variables, {})


def expected(values: list[str]) -> dict[str, str]:
    return {f"V{place}": value for place, value in enumerate(values)}


@pytest.mark.parametrize("shell", ["dash", "bash", "zsh", FISH])
@_FEW
@given(values=st.lists(_ANY, min_size=10, max_size=30))
def test_shells_read_back_every_value(shell: str, tmp_path: Path, values: list[str]) -> None:
    script = tmp_path / "script"
    script.write_bytes(os.fsencode(render(environment(values), "fish" if shell == FISH else "sh")))
    source = "source $argv[1]; dump" if shell == FISH else '. "$1"; dump'
    (seen,) = run_shell(shell, source, {"PATH": "/usr/bin:/bin"}, script)
    assert {name: value for name, value in seen.items() if name != "PATH"} == expected(values)


@_FEW
@given(values=st.lists(_TEXT, min_size=10, max_size=30))
def test_systemd_reads_back_every_value_that_is_not_refused(tmp_path: Path, values: list[str]) -> None:
    carried = [value for value in values if not refused(value, "systemd")]
    file = tmp_path / "environment"
    file.write_text(render(environment(carried), "systemd"), encoding="utf-8", newline="")
    assert read_systemd(file) == expected(carried)


def refused(value: str, shell: Shell) -> bool:
    try:
        render(Environment("", "", (Variable("V", "set", "Why.", value),), {}), shell)
    except Sm120kitError:
        return True
    return False


@pytest.mark.parametrize(
    ("shell", "value"),
    [
        ("sh", "a\0b"),
        ("fish", "a\0b"),
        ("systemd", "/opt/\x1b[31m"),
        ("systemd", "/opt/\r"),
        ("systemd", os.fsdecode(b"/opt/\xff")),
        ("systemd", "/opt/\ufdd0"),
        ("systemd", "/opt/\U0001fffe"),
        ("docker", "/opt/a\nb"),
        ("docker", os.fsdecode(b"/opt/\xff")),
        ("json", os.fsdecode(b"/opt/\xff")),
    ],
)
def test_what_a_dialect_cannot_carry_is_refused(shell: Shell, value: str) -> None:
    with pytest.raises(Sm120kitError) as error:
        render(Environment("", "", (Variable("CUDA_HOME", "set", "Why.", value),), {}), shell)
    assert "CUDA_HOME" in error.value.message
    assert shell in error.value.message
    assert error.value.hint


@pytest.mark.parametrize("value", ["a\nb\tc", "漢 🚀", "\ufeff", "$x `y` \\ \"z\" 'w'"])
def test_systemd_refuses_no_more_than_it_must(value: str) -> None:
    assert not refused(value, "systemd")


@pytest.mark.parametrize(
    ("value", "written"),
    [  # each built by buildah 1.28.2 and read back from the image's configuration
        ("plain", '"plain"'),
        ("", '""'),
        (" a  b ", '" a  b "'),
        ("${HOME:-x}", '"\\${HOME:-x}"'),
        ("a\\", '"a\\\\"'),
        ("\\$x", '"\\\\\\$x"'),
        ("it's", '"it\'s"'),
        ('say "x"', '"say \\"x\\""'),
        ("`id` #é", '"`id` #é"'),
    ],
)
def test_docker(value: str, written: str) -> None:
    assert quote_docker("V", value) == written


def test_docker_lines_stand_alone() -> None:
    text = render(environment(["a b", "c\\"]), "docker")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert lines == ['ENV V0="a b"', 'ENV V1="c\\\\"']


@pytest.mark.parametrize("shell", SHELLS)
def test_folder_lists_take_no_colon(shell: Shell) -> None:
    variable = Variable("PATH", "prepend", "Why.", parts=("/a:b",))
    with pytest.raises(Sm120kitError, match="separated by colons"):
        render(Environment("", "", (variable,), {}), shell)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_name_is_a_name(shell: Shell) -> None:
    with pytest.raises(Sm120kitError, match="not the name of a variable"):
        render(Environment("", "", (Variable("A;id", "set", "Why.", "x"),), {}), shell)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_reason_stays_a_comment(shell: Shell) -> None:
    spilling = Variable("V", "set", "One\nexport EVIL=1\n\\", "x")
    text = render(Environment("/venv\nEVIL=1", "", (spilling,), {}), shell)
    if shell == "json":
        assert json.loads(text)["variables"][0]["value"] == "x"
    else:
        assert not any(line.lstrip().startswith(("export EVIL", "EVIL")) for line in text.splitlines())
        assert not any(line.startswith("#") and line.endswith("\\") for line in text.splitlines())


@pytest.mark.parametrize("shell", ["systemd", "json"])
def test_those_who_cannot_look_get_whole_lists(shell: Shell) -> None:
    variables = (
        Variable("PATH", "prepend", "First.", parts=("/venv/bin", "/opt/bin"), otherwise="/usr/bin:/bin"),
        Variable("LD_LIBRARY_PATH", "prepend", "WSL.", parts=("/usr/lib/wsl/lib",)),
        Variable("LD_LIBRARY_PATH", "remove", "Old.", parts=("/old",)),
        Variable("MAX_JOBS", "set-if-unset", "Memory.", "4"),
    )
    before = {"PATH": "/opt/bin:/usr/bin", "LD_LIBRARY_PATH": "/old:/mine", "MAX_JOBS": "2"}
    text = render(Environment("/venv/bin/python", "/opt", variables, before), shell)
    assert "/venv/bin:/opt/bin:/usr/bin" in text
    assert "/usr/lib/wsl/lib:/mine" in text
    if shell != "json":
        assert 'MAX_JOBS="2"' in text
        assert text.count("LD_LIBRARY_PATH=") == 1
    without = render(Environment("/venv/bin/python", "/opt", variables, {}), shell)
    assert "/venv/bin:/opt/bin:/usr/bin:/bin" in without


def test_an_image_keeps_what_it_sets_itself() -> None:
    variables = (
        Variable("PATH", "prepend", "First.", parts=("/venv/bin", "/opt/$x"), otherwise="/usr/bin:/bin"),
        Variable("LIBRARY_PATH", "prepend", "Links.", parts=("/lib64",)),
        Variable("LIBRARY_PATH", "prepend", "Before these.", parts=("/mine", "/lib64")),
        Variable("LD_LIBRARY_PATH", "prepend", "WSL.", parts=("/usr/lib/wsl/lib",)),
        Variable("LD_LIBRARY_PATH", "remove", "Old.", parts=("/old",)),
        Variable("MAX_JOBS", "set-if-unset", "Memory.", "4"),
        Variable("CC", "set-if-unset", "Fits.", "/o'd}d/$gcc"),
    )
    before = {"PATH": "/home/me/bin:/usr/bin", "LD_LIBRARY_PATH": "/old:/mine", "MAX_JOBS": "2"}
    text = render(Environment("/venv/bin/python", "/opt", variables, before), "docker")
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == [
        r'ENV PATH="/venv/bin:/opt/\$x:${PATH:-/usr/bin:/bin}"',
        r'ENV LIBRARY_PATH="/mine:/lib64${LIBRARY_PATH:+:$LIBRARY_PATH}"',
        r'ENV LD_LIBRARY_PATH="/usr/lib/wsl/lib:/mine"',
        r'ENV MAX_JOBS="${MAX_JOBS:-4}"',
        r'ENV CC="${CC:-/o\'d\}d/\$gcc}"',
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_same_input_same_bytes(shell: Shell) -> None:
    made = environment(["a", "b c"])
    assert render(made, shell) == render(made, shell)
    assert render(made, shell).endswith("\n")

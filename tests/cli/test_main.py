"""The entry: help, version, wrong words, and where every failure ends."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import sm120kit as package
from sm120kit.cli import target_options
from sm120kit.cli.main import COMMANDS, GROUPS
from tests.builders import named, toolkit
from tests.cli.conftest import Command, Saved
from tests.programs import require_program

PROGRAM = [sys.executable, "-m", "sm120kit"]


def test_version(sm120kit: Command) -> None:
    assert sm120kit("--version") == (0, f"sm120kit {package.__version__}\n", "")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_names_every_command_and_teaches(sm120kit: Command, arguments: tuple[str, ...]) -> None:
    answer = sm120kit(*arguments)
    assert (answer.code, answer.err) == (0, "")
    for name in COMMANDS:
        assert f"\n  {name} " in answer.out
    for group in GROUPS:
        assert f"\n{group}:\n" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 100
    assert all(len(help_line) <= 67 for help_line in COMMANDS.values()), "a line of 80 columns each"
    assert "sm120kit doctor --python /srv/venv/bin/python" in answer.out
    assert "the target cannot be examined" in answer.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(sm120kit: Command, name: str) -> None:
    answer = sm120kit(name, "--help")
    assert answer.code == 0
    assert answer.out.startswith(f"Usage: sm120kit {name}")
    assert answer.err == ""
    assert [line for line in answer.out.split("\n") if len(line) > 100] == []


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("docter",), "there is no command 'docter'", "Did you mean doctor?"),
        (("zzz",), "there is no command 'zzz'", "The commands are listed by: sm120kit --help"),
        (("help",), "there is no command 'help'", "See: sm120kit --help"),
        (("completion",), "Choose from: bash, zsh, fish", "sm120kit completion --help"),
        (("doctor", "--attention-backend", "fa3"), "no such option", "sm120kit doctor … -- --attention-backend …"),
        (("plan", "m", "--max-running-requests", "4"), "no such option", "sm120kit plan … -- --max-running-requests …"),
        (("launch", "--tp-size", "2"), "no such option", "sm120kit launch … -- --tp-size …"),
        (("doctor", "--tp", "2"), "no such option", "--tp belongs to SGLang, whose own arguments follow after --"),
        (("smoke", "--tp=2"), "no such option", "sm120kit smoke … -- --tp …"),
        (("plan", "m", "--dp", "2"), "no such option", "sm120kit plan … -- --dp …"),
        (("doctor", "--mod", "x"), "no such option", "Did you mean --model? See:"),
        (("fix", "--appl"), "no such option", "Did you mean --apply? See:"),
        (("fix", "--tp", "2"), "no such option", "  See: sm120kit fix --help"),
        (("explain", "toolkit"), "'toolkit' is a family of checks", "toolkit.incomplete"),
        (("doctor", "--skip", "tolkit.*"), "matches no check", "Did you mean toolkit.*?"),
        (("doctor", "--gpu", "rtx6000"), "no GPU called 'rtx6000'", "rtx-pro-6000"),
        (("doctor", "--pyhton", "x"), "no such option '--pyhton'", "--python"),
        (("explain", "--chcks-dir", "x"), "no such option '--chcks-dir'", "Did you mean --checks-dir? See:"),
        (("explain", "toolkit.nv-traget-missing"), "there is no check", "Did you mean toolkit.nv-target-missing"),
        (("doctor", "--only", "nv-target"), "matches no check", "Did you mean toolkit.nv-target-missing"),
        (("doctor", "--format", "josn"), "'josn' is not one of", "Did you mean json? See: sm120kit doctor --help"),
        (("schema", "fleat"), "'fleat' is not one of", "Did you mean fleet? See: sm120kit schema --help"),
        (("smoke", "--level", "proove"), "'proove' is not one of", "Did you mean prove? See: sm120kit smoke --help"),
        (("smoke", "--level=proove"), "'proove' is not one of", "Did you mean prove? See: sm120kit smoke --help"),
        (
            ("launch", "--replicas", "lots"),
            "--replicas cannot be 'lots': it is a whole number",
            "Servers to start; 0 =",
        ),
        (
            ("launch", "--start-limit", "x"),
            "--start-limit cannot be 'x': it is a number",
            "From a server's start until",
        ),
        (("logs", "-n", "x"), "--lines cannot be 'x': it is a whole number", "How many of the last lines. See:"),
        (("logs", "--start", "0"), "--start cannot be 0: it is 1 or more", "sm120kit logs --help"),
        (("--pyhton", "x"), "no such option '--pyhton'", "sm120kit --help"),
        (("doctor", "--fail-on", "x"), "'x' is not one of", "sm120kit doctor --help"),
        (("doctor", "--python"), "requires an argument", "sm120kit doctor --help"),
        (("doctor", "extra"), "unexpected extra argument", "sm120kit doctor --help"),
        (("explain",), "missing argument", "sm120kit explain --help"),
        (("explain", "cannot find -lcudart"), "there is no check", "sm120kit why -"),
        (("help", "doctor"), "there is no command", "See: sm120kit doctor --help"),
        (("env", "--json"), "no such option", "--json is an option of sm120kit doctor, sm120kit why, "),
        (("prove", "--fail-on", "x"), "no such option", "of sm120kit doctor and sm120kit smoke. See:"),
        (("doctor", "server.log"), "unexpected extra argument", "A log is read by: sm120kit why server.log."),
        (("smoke", "image.tar"), "unexpected extra argument", "Did you mean --image-archive image.tar?"),
        (("doctor", "monday.json"), "unexpected extra argument", "Did you mean --snapshot monday.json?"),
        (("doctor", sys.prefix), "unexpected extra argument", f"Did you mean --python {sys.prefix}/bin/python?"),
    ],
)
def test_wrong_words_are_answered_with_the_nearest(
    sm120kit: Command, arguments: tuple[str, ...], said: str, hint: str
) -> None:
    answer = sm120kit(*arguments)
    assert (answer.code, answer.out) == (2, "")
    first, *rest = answer.err.splitlines()
    assert first.startswith("sm120kit: ")
    assert said in first.replace('"', "'")
    assert hint in "\n".join(rest)
    assert len(rest) == 1 or rest[1].startswith("    "), "names alone are wrapped"


def test_what_a_stranger_wrote_is_not_obeyed(sm120kit: Command) -> None:
    answer = sm120kit("doctor", "--snapshot", "/no\x1b]0;x\x07\n/file\udce9")
    assert answer.code == 4
    assert "\x1b" not in answer.err
    assert "/no\\x1b]0;x\\x07\\n/file\\xe9" in answer.err


def test_a_fault_of_our_own_ends_in_a_private_file(
    sm120kit: Command, saved: Saved, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("HF_TOKEN", "a secret")

    def break_down(_asked: object) -> None:
        raise KeyError("nvcc")

    monkeypatch.setattr(target_options.Asked, "read", break_down)
    answer = sm120kit("doctor", "--snapshot", saved(named()))
    assert (answer.code, answer.out) == (3, "")
    assert "Traceback" not in answer.err
    assert "stopped by a fault of its own: KeyError: 'nvcc'" in answer.err
    path = Path(re.findall(r"\S+sm120kit-crash-\S+\.txt", answer.err)[0])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    assert "Traceback" in text
    assert "break_down" in text
    assert f"sm120kit {package.__version__}" in text
    assert "a secret" not in text


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, click.Abort])
def test_an_interruption_is_130(
    sm120kit: Command, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
) -> None:
    def interrupt(_asked: object) -> None:
        raise interruption

    monkeypatch.setattr(target_options.Asked, "read", interrupt)
    assert sm120kit("doctor") == (130, "", "sm120kit: interrupted\n")


def test_a_reader_that_leaves_changes_no_exit_code(saved: Saved) -> None:
    broken = saved(named(toolkits=(toolkit(cccl=None),)))
    for arguments, code in (
        (["doctor", "-v", "--snapshot", broken], 1),
        (["doctor", "--json", "--snapshot", broken], 1),
        (["schema", "snapshot"], 0),
        (["--help"], 0),
    ):
        read, write = os.pipe()
        os.close(read)
        process = subprocess.run([*PROGRAM, *arguments], stdout=write, stderr=subprocess.PIPE, timeout=60, check=False)
        os.close(write)
        assert (process.returncode, process.stderr) == (code, b"")


@pytest.mark.parametrize("arguments", [["checks"], ["--help"], ["--version"], ["doctor", "--help"]])
def test_output_on_a_full_disk_is_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run([*PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert process.returncode == 2
    assert process.stderr == b"sm120kit: standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize("arguments", ["checks", "--help", "doctor --snapshot {}", "doctor --json --snapshot {}"])
def test_a_closed_standard_output_is_one_line(saved: Saved, arguments: str) -> None:
    command = f"exec {' '.join(PROGRAM)} {arguments.format(saved(named()))} >&-"
    process = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, timeout=60, check=False)
    assert process.returncode == 2
    assert process.stderr == b"sm120kit: standard output cannot be written: it is closed\n"


def test_a_file_is_written_with_all_streams_closed(saved: Saved, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    command = f"exec {' '.join(PROGRAM)} doctor --snapshot {saved(named())} -o {report} <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], timeout=60, check=False).returncode == 0
    assert "Good: nothing wrong was found" in report.read_text()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("doctor", "--gpu", ""), "--gpu"),
        (("doctor", "--driver", ""), "--driver"),
        (("doctor", "--python", " "), "--python"),
        (("doctor", "--suppressions", ""), "--suppressions"),
        (("doctor", "-o", ""), "-o"),
        (("diff", "a.json", ""), "B"),
    ],
)
def test_an_empty_text_is_not_taken_for_nothing(sm120kit: Command, arguments: tuple[str, ...], name: str) -> None:
    answer = sm120kit(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"sm120kit: {name} was given an empty text\n  Is the variable")


@pytest.mark.parametrize("word", ["abc", "0", "1.5"])
def test_the_number_of_a_repair_is_a_number(sm120kit: Command, word: str) -> None:
    answer = sm120kit("undo", word)
    assert (answer.code, answer.out) == (2, "")
    assert f"{word!r} is no NUMBER of a repair" in answer.err
    assert "sm120kit history" in answer.err


def test_lines_of_an_environment_file_that_are_left_out_are_counted(sm120kit: Command, tmp_path: Path) -> None:
    file = tmp_path / "variables"
    (empty := tmp_path / "empty").mkdir()
    options = ("doctor", "--env-file", str(file), "--site-packages", str(empty), "--no-system-toolkits")
    for content, said in (
        ("nokey\n# well\n\n=foo\nA=1\n", f"sm120kit: 2 lines of {file} hold no variable and were left out\n"),
        ("nokey\nA=1\n", f"sm120kit: 1 line of {file} holds no variable and was left out\n"),
        ("; well\r\nA=1\r\n", ""),
        ("junk\0A=1\0", ""),
    ):
        file.write_bytes(content.encode())
        assert sm120kit(*options).err == said


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_command_can_be_copied_from_any_standard_output(
    saved: Saved, own_checks: Callable[[str], str], encoding: str
) -> None:
    folder = "/opt/caf\\udce9/\\x1b/ñ it\\'s"
    body = f"import shlex; command = 'printf %s ' + shlex.quote('{folder}')\n"
    body += "    yield error('it', 'is wrong', [at('a', 'b')], [Manual('Print it', (command,))])"
    process = subprocess.run(
        [*PROGRAM, "doctor", "--only", "site.own", "--checks-dir", own_checks(body), "--snapshot", saved(named())],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    (command,) = [line for line in process.stdout.splitlines() if b"printf" in line]
    assert (b"\xc3\xb1" in command) == (encoding == "utf-8")
    require_program("bash")
    printed = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, check=True).stdout
    assert printed == b"/opt/caf\xe9/\x1b/\xc3\xb1 it's"


def test_standard_output_that_is_no_utf8_gets_escapes(saved: Saved) -> None:
    path = saved(named(environment={"CUDA_HOME": "/opt/café"}))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for form, piece in (("text", b"caf\\xe9"), ("json", "café".encode())):
        process = subprocess.run(
            [*PROGRAM, "doctor", "-v", "--snapshot", path, "--format", form],
            env=environment,
            stdout=subprocess.PIPE,
            timeout=60,
            check=True,
        )
        assert piece in process.stdout


def test_a_pipe_gets_no_colour(saved: Saved) -> None:
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    process = subprocess.run(
        [*PROGRAM, "doctor", "-v", "--snapshot", saved(named())],
        env=environment,
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    assert b"\x1b" not in process.stdout


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_a_terminal_gets_colour_unless_no_color_says_otherwise(saved: Saved, no_color: str, coloured: bool) -> None:
    require_program("script")
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": no_color}
    command = " ".join([*PROGRAM, "doctor", "--snapshot", saved(named())])
    process = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    assert b"Good: nothing wrong was found" in process.stdout
    assert (b"\x1b[" in process.stdout) == coloured

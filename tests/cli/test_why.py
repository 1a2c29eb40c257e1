"""``sm120kit why``: exit codes, data, and log and environment judged together."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from jsonschema import Draft202012Validator

from sm120kit.report.schema import json_schema
from tests.builders import named, probe, toolkit
from tests.cli.conftest import Command, Saved
from tests.programs import require_program

LOGS = Path(__file__).resolve().parent.parent / "logs"
LINK = str(LOGS / "toolkit.cudart-unlinkable__flashinfer.log")
HEALTHY = str(LOGS / "healthy__0.5.23.log")
QUIET = "".join(f"Decode batch, #token: {random.Random(n).random()}\n" for n in range(3000)).encode()
UNKNOWN = str(LOGS / "unknown__plugin.log")


@pytest.mark.parametrize(("log", "code"), [(HEALTHY, 0), (LINK, 1), (UNKNOWN, 4)])
def test_exit_codes(sm120kit: Command, log: str, code: int) -> None:
    text, data = sm120kit("why", log), sm120kit("why", log, "--json")
    assert (text.code, text.err) == (code, "")
    assert (data.code, data.err) == (code, "")


@pytest.mark.parametrize("log", sorted(LOGS.glob("*.log")), ids=lambda path: path.stem)
def test_data_fits_its_schema(sm120kit: Command, log: Path) -> None:
    data = json.loads(sm120kit("why", str(log), "--json").out)
    Draft202012Validator(json_schema("why")).validate(data)
    assert data["schema"] == "sm120kit.why/1"
    assert data["known"] is bool(data["causes"])
    for cause in data["causes"]:
        assert {"check", "message", "line", "text", "remedies"} <= cause.keys()


def test_text_shows_cause_line_and_remedy(sm120kit: Command) -> None:
    out = sm120kit("why", LINK).out
    for piece in (
        "toolkit.cudart-unlinkable",
        "12: /usr/bin/ld: cannot find -lcudart",
        "and 1 more",
        "sm120kit explain",
    ):
        assert piece in out
    assert out.index("-lcudart: No") < out.index("-lcuda: No")
    assert "mem-fraction-static" not in out


def test_text_about_what_is_not_known_ends_with_an_issue(sm120kit: Command) -> None:
    out = sm120kit("why", UNKNOWN).out
    assert out.index("WidgetError") < out.index("# Server fails: frobnicator")
    for secret in ("not-to-be-seen", "sk-abc", "hf_abc"):
        assert secret not in out


def test_standard_input(sm120kit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "piped"
    path.write_bytes(Path(LINK).read_bytes())
    with path.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        answer = sm120kit("why", "-", "--json")
    assert (answer.code, json.loads(answer.out)["log"]) == (1, "standard input")


def test_a_log_that_is_piped_in_needs_no_name() -> None:
    def why(*logs: str, stdin: int | IO[bytes]) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sm120kit", "why", *logs]
        return subprocess.run(command, stdin=stdin, capture_output=True, text=True, timeout=60, check=False)

    with Path(LINK).open("rb") as file:
        answer = why(stdin=file)
    assert (answer.returncode, answer.stderr) == (1, "")
    assert "toolkit.cudart-unlinkable" in answer.stdout
    none = why(stdin=subprocess.DEVNULL)
    assert (none.returncode, none.stdout) == (2, "")
    assert "no log is named" in none.stderr
    two = why(LINK, HEALTHY, stdin=subprocess.DEVNULL)
    assert (two.returncode, two.stdout) == (2, "")
    assert "2 logs are named, and one is read at a time" in two.stderr


def test_the_next_step_names_the_log(sm120kit: Command, tmp_path: Path) -> None:
    path = tmp_path / "a log"
    path.write_bytes(Path(LINK).read_bytes())
    assert f"sm120kit why '{path}' --python PATH" in sm120kit("why", str(path)).out


def test_a_start_that_hangs_ends_with_4(sm120kit: Command, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("[2026-11-29 16:01:10 TP1] Load weight begin. avail mem=94.08 GB\n")
    answer = sm120kit("why", str(path))
    assert (answer.code, answer.err) == (4, "")
    said = " ".join(answer.out.split())
    assert "stopped the log ends while the server loads its weights" in said
    assert "No error stands in this log, and the server was not ready where it ends." in said


def test_a_log_cannot_command_the_terminal(sm120kit: Command, tmp_path: Path) -> None:
    path = tmp_path / "evil.log"
    path.write_bytes(b"ValueError: \x1b]0;owned\x07 \x9b31m [bold]x[/bold] \xe2\x80\xae\n")
    answer = sm120kit("why", str(path))
    assert answer.code == 4
    assert "[bold]x[/bold]" in answer.out
    for control in ("\x1b", "\x07", "\x9b", "\u202e"):
        assert control not in answer.out


@pytest.mark.parametrize("name", ["none.log", "."])
def test_what_cannot_be_read_is_one_line(sm120kit: Command, tmp_path: Path, name: str) -> None:
    answer = sm120kit("why", str(tmp_path / name))
    assert (answer.code, answer.out) == (4, "")
    assert str(tmp_path) in answer.err


def test_log_and_snapshot_cannot_both_be_standard_input(sm120kit: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert sm120kit("why", "-", "--snapshot", "-").code == 2


def test_the_target_says_which_of_two_causes_it_is(sm120kit: Command, saved: Saved) -> None:
    broken = saved(named(toolkits=(toolkit(link_names=()),), link_probes=(probe(missing=("cudart",)),)))
    data = json.loads(sm120kit("why", LINK, "--json", "--snapshot", broken).out)
    cudart, libcuda = data["causes"]
    assert cudart["on_target"]["outcome"] == "found"
    assert cudart["on_target"]["findings"][0]["check"] == "toolkit.cudart-unlinkable"
    assert cudart["remedies"] == cudart["on_target"]["findings"][0]["remedies"]
    assert libcuda["on_target"]["outcome"] == "ok"
    text = sm120kit("why", LINK, "--snapshot", broken).out
    assert cudart["on_target"]["findings"][0]["message"].split()[-1] in text
    assert "This target does not have that fault now" in text


def test_own_signatures_stand_beside_ours(sm120kit: Command, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        '"""The widget is upside down"""\n'
        "from sm120kit.diagnosis import LogRemedy, Signature, log_failure\n"
        'FAILURE = log_failure("site.widget")\n'
        "SIGNATURES = [Signature(\n"
        '    pattern=r"the (?P<what>\\w+) is upside down", rank="cause", example="the widget is upside down",\n'
        '    look_alike="the widget", source="ours", message="Turn the {what} over", remedies=(LogRemedy("so"),),\n'
        ")]\n"
    )
    answer = sm120kit("why", UNKNOWN, "--checks-dir", str(tmp_path))
    assert answer.code == 1
    assert "turn the widget over" in answer.out
    assert "The widget is upside down" in sm120kit("explain", "site.widget", "--checks-dir", str(tmp_path)).out
    assert "site.widget" in sm120kit("checks", "--checks-dir", str(tmp_path)).out
    assert sm120kit("doctor", "--only", "site.widget", "--checks-dir", str(tmp_path)).code == 2


def test_a_signature_that_is_no_pattern_is_one_line(sm120kit: Command, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from sm120kit.diagnosis import Signature, log_failure\n"
        'FAILURE = log_failure("site.bad")\n'
        'SIGNATURES = [Signature(pattern="(", rank="cause", example="", look_alike="", source="")]\n'
    )
    answer = sm120kit("why", UNKNOWN, "--checks-dir", str(tmp_path))
    assert answer.code == 2
    assert "own.py" in answer.err


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (gzip.compress(b"a line\n" * 9)[:11], "is a compressed file that is cut off or damaged"),
        (gzip.compress(QUIET)[:-8000], "the compressed file is cut off, and what could be read of it shows no fault"),
        (gzip.compress(b""), "is empty once unpacked"),
        (b"\x00" * 100, "holds no text"),
        (b"\n\n  \n--\n", "holds no text"),
        (b"\xff\xfa" * 50, "holds no text"),
        (
            b"root:x:0:0:root:/root:/bin/bash\nnvidia-persistenced:x:143:143:NVIDIA:/var/run:/sbin/nologin\n",
            "does not look like a log",
        ),
        (Path(__file__).read_bytes()[:200], "does not look like a log"),
    ],
    ids=["cut before a line", "cut", "nothing in it", "NULs", "no readable line", "no UTF-8", "users", "a program"],
)
def test_what_cannot_be_judged_is_not_called_good(sm120kit: Command, tmp_path: Path, log: bytes, said: str) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(log)
    answer = sm120kit("why", str(path))
    assert (answer.code, answer.out) == (4, "")
    assert f"{path}" in answer.err
    assert said in answer.err


@pytest.mark.parametrize(
    "line", ["Killed", "run.sh: line 3:  4711 Killed                  python -m sglang.launch_server"]
)
def test_killed_alone_is_named_with_doubt(sm120kit: Command, tmp_path: Path, line: str) -> None:
    path = tmp_path / "server.log"
    path.write_text(f"{line}\n")
    answer = sm120kit("why", str(path))
    assert answer.code == 1
    assert "memory.host-killed" in answer.out
    assert "perhaps the kernel" in " ".join(answer.out.split())
    # SGLang ends itself that way too: what failed before counts more.
    path.write_text(f"WidgetError: the widget is upside down\n{line}\n")
    answer = sm120kit("why", str(path))
    assert answer.code == 4
    assert "WidgetError" in answer.out


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-29 16:01:10 TP1] Using KV cache dtype: torch.bfloat16",
        "sglang-1  | Nov 30 05:00:00 box sglang[12]: The server is fired up and ready to roll!",
        "INFO:     Started server process [4711]",
        "[1/3] c++ -c a.cpp",
        "kernel.cu(12): warning #177-D: variable was declared but never referenced",
        "NVRM: loading NVIDIA UNIX Open Kernel Module",
        "Loading safetensors checkpoint shards: 100% Completed | 4/4 [00:01<00:00,  2.81it/s]",
    ],
)
def test_a_quiet_line_of_a_log_is_a_log(sm120kit: Command, tmp_path: Path, line: str) -> None:
    path = tmp_path / "server.log"
    path.write_text(f"a word before\n{line}\n")
    answer = sm120kit("why", str(path))
    assert (answer.code, answer.err) == (0, "")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16", "utf-32"])
@pytest.mark.parametrize("packed", [False, True])
def test_other_encodings_are_read_and_named(sm120kit: Command, tmp_path: Path, encoding: str, *, packed: bool) -> None:
    path = tmp_path / "server.log"
    log = Path(LINK).read_text().encode(encoding)
    path.write_bytes(gzip.compress(log) if packed else log)
    answer = sm120kit("why", str(path))
    assert answer.code == 1
    assert f"lines of {encoding.upper()}" in " ".join(answer.out.split())
    assert json.loads(sm120kit("why", str(path), "--json").out)["causes"][0]["check"] == "toolkit.cudart-unlinkable"


SECRETS = ("hf_abcdefghijklmnopqrst", "abc.def", "pa55", "s3cret")


@pytest.mark.parametrize(
    "line",
    [
        "ValueError: x token=hf_abcdefghijklmnopqrst Authorization: Bearer abc.def http://me:pa55@h/ api-key=s3cret",
        "FileNotFoundError: Bearer abc.def password='s3cret' " + "x" * 700,
        "OSError: " + "x" * 190 + " Authorization: Bearer abc.def " + "y" * 700,
        "ModuleNotFoundError: No module named 'http://me:pa55@h/?token=s3cret'",
    ],
)
def test_no_secret_leaves_in_any_output(sm120kit: Command, tmp_path: Path, line: str) -> None:
    path = tmp_path / "server.log"
    path.write_text(f"[2026-11-29 16:01:10 TP1] Scheduler hit an exception: Traceback\n{line}\n")
    for answer in (sm120kit("why", str(path)), sm120kit("why", str(path), "--json")):
        assert answer.code in (1, 4)
        assert "[redacted]" in answer.out
        assert not [secret for secret in SECRETS if secret in answer.out]


@pytest.mark.parametrize("command", [["why"], ["plan", "--gpu", "rtx-5090", "--sglang", "0.5.12", "--check"]])
def test_what_may_never_end_is_refused(sm120kit: Command, tmp_path: Path, command: list[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((str(tmp_path / "pipe"), "a named pipe"), ("/dev/zero", "a device")):
        answer = sm120kit(*command, path)
        assert (answer.code, answer.out) == (4, "")
        assert answer.err == f"sm120kit: {path} is {kind}, and no log\n  Give a file, or - to read standard input\n"


def test_what_the_shell_opened_is_read() -> None:
    require_program("bash")
    log = "sglang serve: error: unrecognized arguments: --x"
    for script in (f"echo '{log}' | $PY -m sm120kit why /dev/stdin", f"$PY -m sm120kit why <(echo '{log}')"):
        done = subprocess.run(["bash", "-c", script], env={**os.environ, "PY": sys.executable}, capture_output=True,
                              timeout=60, check=False)  # fmt: skip
        assert (done.returncode, done.stderr) == (1, b"")

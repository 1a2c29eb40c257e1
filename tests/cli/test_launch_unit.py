"""``sm120kit launch --render systemd``."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.programs import require_program


def words_of(unit: str) -> list[str]:
    """The command of a unit; nothing in these tests needs more than a shell's reading of it."""
    line = next(each for each in unit.splitlines() if each.startswith("ExecStart="))
    return shlex.split(line.removeprefix("ExecStart="))


def test_the_unit_runs_this_very_command(sm120kit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefgh12345678")
    asked = ("./models/q", "--name", "qwen", "--drain-limit", "45", "--", "--max-running-requests", "46", "--render")
    answer = sm120kit("launch", "--render", "systemd", "--json", *asked)
    assert (answer.code, answer.err) == (0, "")
    program, *words = words_of(answer.out)
    assert words[words.index("launch") :] == ["launch", f"{tmp_path}/models/q", *asked[1:]]
    assert "REHEARSAL" not in answer.out
    assert os.path.isabs(program)
    assert f"WorkingDirectory={tmp_path}\n" in answer.out
    assert f'Environment="XDG_STATE_HOME={tmp_path}/state"\n' in answer.out
    assert "TimeoutStopSec=75\n" in answer.out
    assert "hf_abc" not in answer.out


def test_every_path_is_whole(sm120kit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.toml").write_text("model = './m'\n")
    given = ("--config", "f.toml", "--log-dir=logs", "--name", "qwen", "--python", "python3", "--stage", "../shm", "-v")
    answer = sm120kit("launch", *given, "--render", "systemd", "--", "--chat-template", "./x.jinja")
    words = words_of(answer.out)
    assert words[words.index("launch") + 1 :] == [
        "--config", f"{tmp_path}/f.toml", f"--log-dir={tmp_path}/logs", "--name", "qwen", "--python", "python3",
        "--stage", f"{tmp_path.parent}/shm", "-v", "--", "--chat-template", "./x.jinja",
    ]  # fmt: skip
    (tmp_path / "here").mkdir()
    for model, whole in (("here", f"{tmp_path}/here"), ("Qwen/Qwen3-32B", "Qwen/Qwen3-32B")):
        assert words_of(sm120kit("launch", "--keep", model, "--render=systemd").out)[-1] == whole


def test_the_unit_of_a_rehearsal_says_so(sm120kit: Command) -> None:
    unit = sm120kit("launch", "--rehearse", "--render", "systemd").out
    assert "# REHEARSAL: it starts stand-ins on simulated GPUs, and no server." in unit
    assert "\nDescription=REHEARSAL of an SGLang fleet" in unit


def test_systemd_takes_it(sm120kit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_program("systemd-analyze")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "qwen.service"
    file.write_text(
        sm120kit("launch", "/models/q", "--render", "systemd", "--", "--json-model-override-args", "{}").out
    )
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, [each for each in done.stderr.splitlines() if "qwen.service" in each]) == (0, [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--detach",), "--detach does not go with --render"),
        (("--", "--api-key", "correct-horse"), "--api-key-file"),
        (("--variable", "HF_TOKEN=hf_abcdefgh12345678"), "secret"),
    ],
)
def test_what_cannot_be_a_service(sm120kit: Command, words: tuple[str, ...], said: str) -> None:
    answer = sm120kit("launch", "/models/q", "--render", "systemd", *words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert "correct-horse" not in answer.err
    assert "hf_abc" not in answer.err

"""Shell completion: the scripts, and the words that are offered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sm120kit.cli.main import COMMANDS, COMPLETION_VARIABLE
from sm120kit.fleet.state import folder_of, make_folder, write_fleet
from tests.cli.conftest import Command
from tests.fleets import fleet
from tests.programs import require_program


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(sm120kit: Command, shell: str) -> None:
    answer = sm120kit("completion", shell)
    assert (answer.code, answer.err) == (0, "")
    assert f"{COMPLETION_VARIABLE}={shell}_complete" in answer.out


def test_bash_takes_the_script(sm120kit: Command) -> None:
    require_program("bash")
    script = sm120kit("completion", "bash").out
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\ncomplete -p sm120kit"], stdout=subprocess.PIPE, check=True, timeout=60
    )
    assert b"sm120kit" in done.stdout


def offered(line: str) -> set[str]:
    """What is offered for the last word of ``line``, as bash would ask."""
    words = line.split(" ")
    done = subprocess.run(
        [sys.executable, "-m", "sm120kit"],
        env={**os.environ, COMPLETION_VARIABLE: "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    return {each.partition(",")[2] for each in done.stdout.decode().splitlines()}


def test_commands_options_check_ids_and_gpus_are_offered() -> None:
    assert set(COMMANDS) <= offered("sm120kit ")
    assert "--suppressions" in offered("sm120kit doctor --s")
    assert offered("sm120kit explain toolkit.nv-t") == {"toolkit.nv-target-missing"}
    assert "toolkit.nv-target-missing" in offered("sm120kit doctor --only toolkit.")
    assert {"rtx-pro-6000", "rtx-5090"} <= offered("sm120kit doctor --gpu rtx-")


def test_names_of_fleets_and_faults_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("qwen", "quick", "other"):
        folder = folder_of(name)
        make_folder(folder)
        write_fleet(folder, fleet(name=name, ended=True))
    for command in ("status", "logs", "restart", "stop", "verify"):
        assert offered(f"sm120kit {command} q") == {"qwen", "quick"}
    assert {"hang", "hangs-later"} == offered("sm120kit launch --fault ha")
    assert {"load", "quick", "standard"} == offered("sm120kit launch --level ")

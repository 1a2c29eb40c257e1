"""Follows docs/adding-a-check.md to the letter."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.docs.command_lines import COMMAND_LINES

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/adding-a-check.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The code blocks of that language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """One command line of the page, with the interpreter that runs the tests."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = shlex.split(line)
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    program = [sys.executable, "-m", "sm120kit"] if words[0] == "sm120kit" else [sys.executable]
    return subprocess.run(
        [*program, *words[1:]], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_page_is_followed(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    (file,) = blocks("python")
    named = re.search(r"as `(mine/\w+\.py)`", PAGE)
    assert named
    (tmp_path / "mine").mkdir()
    (tmp_path / named[1]).write_text(file)
    listed, explained, diagnosed = (run(line, tmp_path) for line in blocks("sh")[0].splitlines())
    assert (listed.returncode, "mine.too-many-jobs" in listed.stdout) == (0, True)
    assert (explained.returncode, "## Remedy" in explained.stdout) == (0, True)
    assert "MAX_JOBS is 100000" in diagnosed.stdout
    assert diagnosed.returncode == 0, diagnosed.stderr
    record_property(COMMAND_LINES, (3, 0, 0))


def test_the_pages_of_all_checks_are_current(record_property: Callable[[str, object], None]) -> None:
    (line,) = blocks("sh")[1].splitlines()
    done = run(f"{line} --check", ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    record_property(COMMAND_LINES, (1, 0, 0))


def test_the_file_of_a_failure_in_a_log_works_as_its_page_shows_it(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to-why.md").read_text(encoding="utf-8")
    ((name, file),) = re.findall(r"`(mine/\w+\.py)`:\n\n```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "mine").mkdir()
    (tmp_path / name).write_text(file)
    (tmp_path / "server.log").write_text("acme.LicenceError: no seat for widgets\n")
    named = run("sm120kit why server.log --checks-dir mine", tmp_path)
    assert (named.returncode, named.stderr) == (1, "")
    assert "cause    no seat is free for widgets" in named.stdout
    assert "acme seats --free widgets" in named.stdout
    explained = run("sm120kit explain mine.no-seat --checks-dir mine", tmp_path)
    assert (explained.returncode, "## Remedy" in explained.stdout) == (0, True)

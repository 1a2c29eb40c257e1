"""Reading check files: ours, and those of --checks-dir."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.run import run_check
from sm120kit.diagnosis.types import Outcome
from sm120kit.errors import USAGE, Sm120kitError
from tests.builders import snapshot

OURS = "toolkit.nv-target-missing"

CHECK = '''"""{title}

## What it finds
Something.
"""
from sm120kit.diagnosis import at, check, note

@check("{check_id}")
def judge(case):
    yield note("here", "seen", [at("a fact", "/a/place")])
'''


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_checks_of_a_folder_stand_beside_ours(tmp_path: Path) -> None:
    path = write(tmp_path, "site/own.py", CHECK.format(title="Our own rule", check_id="site.own"))
    checks = read_catalogue([tmp_path]).checks
    assert OURS in checks
    assert list(checks) == sorted(checks)
    own = checks["site.own"]
    assert (own.title, own.path) == ("Our own rule", str(path))
    result = run_check(own, Case(snapshot()))
    assert result.outcome is Outcome.FOUND
    assert result.findings[0].check == "site.own"


def test_two_folders_may_hold_files_of_one_name(tmp_path: Path) -> None:
    for family in ("one", "two"):
        write(tmp_path / family, "same.py", CHECK.format(title=family, check_id=f"{family}.same"))
    checks = read_catalogue([tmp_path / "one", tmp_path / "two"]).checks
    assert (checks["one.same"].title, checks["two.same"].title) == ("one", "two")


def test_an_id_that_is_there_twice_names_both_files(tmp_path: Path) -> None:
    path = write(tmp_path, "copy.py", CHECK.format(title="A copy", check_id=OURS))
    with pytest.raises(Sm120kitError) as caught:
        read_catalogue([tmp_path])
    assert caught.value.exit_code == USAGE
    for piece in (OURS, str(path), "nv_target_missing.py"):
        assert piece in caught.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def broken(:\n", "SyntaxError"),
        ("import no_such_module_of_ours\n", "ModuleNotFoundError"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("raise SystemExit\n", "SystemExit"),
        ("# no mark of a check, and broken\n)\n", "SyntaxError"),
        (CHECK.format(title="t", check_id="Not An Id"), "is not a check id"),
        ("x = '\0'\n", "null bytes"),
    ],
)
@pytest.mark.parametrize("failures", [True, False])
def test_a_file_that_does_not_load_is_one_line(tmp_path: Path, text: str, said: str, failures: bool) -> None:
    path = write(tmp_path, "broken.py", text)
    with pytest.raises(Sm120kitError) as caught:
        read_catalogue([tmp_path], failures=failures)
    assert str(path) in caught.value.message
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(Sm120kitError, match="is not a folder of checks"):
        read_catalogue([tmp_path / "none"])


def test_a_file_without_a_page_has_its_id_for_a_title(tmp_path: Path) -> None:
    write(tmp_path, "bare.py", CHECK.format(title="t", check_id="site.bare").partition('"""\n')[2])
    assert read_catalogue([tmp_path]).get("site.bare").title == "site.bare"


@pytest.mark.parametrize(
    ("asked", "hint"),
    [("toolkit.nv-target-mising", OURS), ("nv-target-missing", OURS), ("zzz", "sm120kit checks")],
)
def test_an_id_that_is_not_there_names_the_nearest(asked: str, hint: str) -> None:
    with pytest.raises(Sm120kitError) as caught:
        read_catalogue().get(asked)
    assert asked in caught.value.message
    assert hint in caught.value.hint


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(Sm120kitError, match=r"pipe\.py does not load: it is no regular file"):
        read_catalogue([tmp_path], failures=False)


def test_a_check_that_would_end_the_program_has_crashed(tmp_path: Path) -> None:
    write(tmp_path, "own.py", CHECK.format(title="t", check_id="site.own") + "    raise SystemExit(0)\n")
    result = run_check(read_catalogue([tmp_path]).checks["site.own"], Case(snapshot()))
    assert (result.outcome, result.reason) == (Outcome.CRASHED, f"SystemExit: 0 ({tmp_path}/own.py:11)")

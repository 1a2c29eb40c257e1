"""--only and --skip."""

from __future__ import annotations

import pytest

from sm120kit.diagnosis.registry import Check
from sm120kit.diagnosis.selection import select
from sm120kit.errors import USAGE, Sm120kitError

IDS = ("driver.too-old", "toolkit.cccl-mixed", "toolkit.nvcc-missing", "torch.cpu-only")
CHECKS = {check_id: Check(check_id, lambda _case: iter(())) for check_id in IDS}


def test_everything_runs_unless_told_otherwise() -> None:
    assert tuple(select(CHECKS)) == IDS


def test_globs_choose_and_leave_out() -> None:
    assert tuple(select(CHECKS, only=["toolkit.*", "torch.cpu-only"])) == IDS[1:]
    assert tuple(select(CHECKS, skip=["*.nvcc-*"])) == (IDS[0], IDS[1], IDS[3])
    assert tuple(select(CHECKS, only=["toolkit.*"], skip=["toolkit.cccl-*"])) == (IDS[2],)


@pytest.mark.parametrize("option", ["only", "skip"])
@pytest.mark.parametrize(
    ("glob", "hint"),
    [
        ("toolkit.nvcc-mising", "toolkit.nvcc-missing"),
        ("nvcc-missing", "toolkit.nvcc-missing"),
        ("toolkit", "toolkit.*"),
        ("zzzzzz", "sm120kit checks"),
        ("TOOLKIT.*", ""),
    ],
)
def test_a_glob_that_matches_nothing_is_an_error(option: str, glob: str, hint: str) -> None:
    with pytest.raises(Sm120kitError) as caught:
        select(CHECKS, **{option: [glob]})
    assert caught.value.exit_code == USAGE
    assert f"--{option} {glob} matches no check" in caught.value.message
    assert hint in caught.value.hint


def test_leaving_out_all_is_an_error() -> None:
    with pytest.raises(Sm120kitError, match="leave no check"):
        select(CHECKS, only=["toolkit.*"], skip=["*"])

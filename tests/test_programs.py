"""The rule by which tests skip: allowed and counted on a developer's machine, forbidden in CI."""

from __future__ import annotations

import os

import pytest

from tests.programs import MISSING_PROGRAM, require_program

NO_SUCH_PROGRAM = "sm120kit-no-such-program"


def test_a_missing_program_skips_and_can_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SM120KIT_TEST_STRICT", raising=False)
    with pytest.raises(pytest.skip.Exception, match=MISSING_PROGRAM + NO_SUCH_PROGRAM):
        require_program("sh", NO_SUCH_PROGRAM)


def test_a_missing_program_fails_in_strict_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SM120KIT_TEST_STRICT", "1")
    with pytest.raises(pytest.fail.Exception, match=NO_SUCH_PROGRAM):
        require_program(NO_SUCH_PROGRAM)


def test_the_environment_of_the_shell_is_gone() -> None:
    names = ("CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CC", "CXX")
    assert not [name for name in names if name in os.environ]
    assert not os.listdir(os.environ["HOME"])

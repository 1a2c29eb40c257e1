"""A report's commands are about the target that it is about."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Command


def _commands(text: str, name: str) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in text.split("\n") if line.strip().startswith(f"sm120kit {name} ")]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "with space"
    folder.mkdir()
    return folder


def test_the_doctor_repeats_what_names_the_target(sm120kit: Command, site: Path) -> None:
    options = ("--site-packages", str(site), "--gpu", "rtx-5090", "--skip", "toolkit.*")
    answer = sm120kit("doctor", *options, "--fail-on", "never")
    [words] = _commands(answer.out, "doctor")
    assert words == ["doctor", *options, "-v"]
    assert sm120kit(*words).out.split("\n")[0] == answer.out.split("\n")[0]


def test_without_options_nothing_is_repeated(sm120kit: Command) -> None:
    out = sm120kit("doctor", "--fail-on", "never").out
    assert any(line.startswith("  sm120kit doctor -v  ") for line in out.split("\n"))


def test_what_sglang_is_given_may_hold_a_key_and_is_not_repeated(sm120kit: Command, site: Path) -> None:
    answer = sm120kit("doctor", "--site-packages", str(site), "--sglang", "0.5.23", "--", "--api-key", "s3cret")
    [words] = _commands(answer.out, "doctor")
    assert words == ["doctor", "--site-packages", str(site), "--sglang", "0.5.23", "-v", "--", "..."]


def test_a_smoke_test_names_its_target_too(sm120kit: Command, site: Path) -> None:
    answer = sm120kit("smoke", "--site-packages", str(site))
    assert _commands(answer.out, "doctor") == [["doctor", "--site-packages", str(site), "-v"]]
    assert "nothing to judge was found" in " ".join(answer.out.split())


@pytest.mark.parametrize("name", ["fix", "prove", "run", "env"])
def test_help_does_not_offer_what_is_refused(sm120kit: Command, name: str) -> None:
    shown = sm120kit(name, "--help").out
    assert "--snapshot FILE" not in shown
    assert ("--image-archive" in shown) is (name == "env")

"""``sm120kit snapshot``, and the doctor on what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    """A folder with one distribution."""
    folder = tmp_path / "site-packages"
    info = folder / "numpy-2.3.0.dist-info"
    info.mkdir(parents=True)
    (info / "RECORD").write_text("")
    return folder


def test_what_is_written_can_be_judged_and_compared(sm120kit: Command, site_packages: Path, tmp_path: Path) -> None:
    target = ("--site-packages", str(site_packages), "--no-system-toolkits")
    monday = str(tmp_path / "monday.json")
    answer = sm120kit("snapshot", *target, "-o", monday)
    assert answer == (0, "", "")
    data = json.loads(Path(monday).read_text())
    assert data["schema"] == "sm120kit.snapshot/1"
    live = json.loads(sm120kit("doctor", *target, "--json").out)
    saved = json.loads(sm120kit("doctor", "--snapshot", monday, "--json").out)
    assert live["findings"] == saved["findings"]
    assert live["checks"] == saved["checks"]
    answer = sm120kit("diff", monday, *target)
    assert (answer.code, answer.out.splitlines()[-1]) == (0, "No difference.")


def test_standard_output_gets_the_data_alone(sm120kit: Command, site_packages: Path) -> None:
    answer = sm120kit("snapshot", "--site-packages", str(site_packages), "--no-system-toolkits")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)["target"]["path"] == str(site_packages)


def test_a_snapshot_of_a_snapshot_is_refused(sm120kit: Command) -> None:
    answer = sm120kit("snapshot", "--snapshot", "x.json")
    assert (answer.code, answer.out) == (2, "")
    assert "--snapshot does not go with this command" in answer.err


@pytest.mark.parametrize(
    "option", [("--python", "/no/such/python"), ("--site-packages", "/no/such"), ("--root", "/no/such")]
)
def test_a_target_that_is_not_there_is_4(sm120kit: Command, option: tuple[str, str]) -> None:
    answer = sm120kit("doctor", *option)
    assert (answer.code, answer.out) == (4, "")
    assert option[1] in answer.err
    assert len(answer.err.splitlines()) == 2

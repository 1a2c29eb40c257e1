"""The level serve, with a stand-in: what it shows, and what it says where nothing can be served."""

from __future__ import annotations

import json
import os
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from sm120kit.cli.main import main
from sm120kit.fleet.supervising import list_fleets

pytestmark = pytest.mark.rehearsal

TARGET = ("--python", sys.executable, "--no-system-toolkits")


def smoke(*words: str) -> int:
    """One run at level serve."""
    return main(["smoke", "--level", "serve", *TARGET, *words])


def test_a_stand_in_is_verified_and_ended(capsys: pytest.CaptureFixture[str]) -> None:
    assert smoke("--rehearse", "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert [step["name"] for step in report["steps"]] == ["static", "prove", "serve"]
    assert report["steps"][2]["outcome"] == "passed"
    assert "rehearsal" in report["steps"][2]["reason"]
    assert report["fleet"]["verified"]
    assert report["fleet"]["rehearsal"]
    assert report["fleet"]["level"] == "load"
    assert list_fleets() == (), "nothing of a good one is kept"


def test_verdicts_are_cases_of_junit(capsys: pytest.CaptureFixture[str]) -> None:
    assert smoke("--rehearse", "--format", "junit") == 0
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(capsys.readouterr().out)}
    served = suites["sm120kit serve"]
    names = [case.get("name") for case in served.iter("testcase")]
    assert {"port-owner", "generation", "load", "server"} <= set(names)
    assert served.get("failures") == "0"


def test_without_a_gpu_nothing_can_be_served(capsys: pytest.CaptureFixture[str]) -> None:
    assert smoke("--format", "json") == 1
    step = json.loads(capsys.readouterr().out)["steps"][2]
    assert step["outcome"] == "failed"
    assert "no SGLang is installed, and no GPU is here" in step["reason"]
    assert smoke("--fail-on", "unknown") == 1
    capsys.readouterr()
    assert smoke("--fail-on", "never", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["steps"][2]["outcome"] == "unknown"


def test_an_argument_that_sglang_does_not_take_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert smoke("--rehearse", "--format", "markdown", "--sglang", "0.5.23", "--", "--max-runing-requests", "4") == 1
    assert "--max-running-requests" in capsys.readouterr().out


def test_a_rehearsal_goes_with_this_level_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smoke", "--rehearse", *TARGET]) == 2
    assert "--rehearse goes with --level serve" in capsys.readouterr().err


def test_an_image_cannot_be_served_from_outside(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smoke", "--level", "serve", "--root", os.sep]) == 2
    assert "--level serve" in capsys.readouterr().err

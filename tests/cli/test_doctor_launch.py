"""``sm120kit doctor --model DIR --sglang VERSION -- SGLANG ARGS``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sm120kit.cli.launch_options import newest_version
from tests.builders import distribution, known, snapshot
from tests.cli.conftest import Answer, Command, Saved
from tests.models import QWEN3_NEXT_80B

STACK = snapshot(
    distributions=known(
        (
            distribution("flashinfer-python", "0.6.11.post1"),
            distribution("sglang", "0.5.12"),
            distribution("sglang-kernel", "0.4.2.post2"),
            distribution("torch", "2.11.0"),
        )
    )
)


def errors(answer: Answer) -> dict[str, Any]:
    """Errors of a JSON report by check."""
    found = json.loads(answer.out)["findings"]
    return {each["check"]: each for each in found if each["severity"] == "error"}


def test_a_launch_line_is_judged_as_the_installed_version_reads_it(sm120kit: Command, saved: Saved) -> None:
    answer = sm120kit("doctor", "--snapshot", saved(STACK), "--json", "--", "--attention-backend", "fa3", "--tp", "x")
    assert answer.code == 1
    assert set(errors(answer)) == {"attention.backend-unsupported", "sglang.argument-renamed"}
    assert errors(answer)["attention.backend-unsupported"]["subject"] == "fa3 on 12.0"
    assert any("0.5.12" in each["text"] for each in errors(answer)["attention.backend-unsupported"]["evidence"])


def test_a_whole_command_for_another_version_and_gpu(sm120kit: Command, saved: Saved) -> None:
    line = ["python", "-m", "sglang.launch_server", "--model-path", "/m", "--attention-backend", "fa3"]
    path = saved(STACK)
    hopper = sm120kit("doctor", "--snapshot", path, "--gpu", "h100", "--sglang", "0.5.23", "--json", "--", *line)
    assert "attention.backend-unsupported" not in errors(hopper)
    blackwell = sm120kit(
        "doctor", "--snapshot", path, "--gpu", "rtx-5090", "--sglang", "v0.5.23", "--json", "--", *line
    )
    assert "attention.backend-unsupported" in errors(blackwell)


def test_a_model_from_its_folder(sm120kit: Command, saved: Saved, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(QWEN3_NEXT_80B))
    arguments = ("doctor", "--snapshot", saved(STACK), "--sglang", "0.5.23", "--json")
    named = sm120kit(*arguments, "--model", str(tmp_path), "--", "--attention-backend", "fa4")
    assert set(errors(named)) >= {"attention.hybrid-backend-refused"}
    in_line = sm120kit(*arguments, "--", "--attention-backend", "fa4", "--model-path", str(tmp_path))
    assert errors(in_line).keys() == errors(named).keys()
    elsewhere = sm120kit(*arguments, "--", "--attention-backend", "fa4", "--model-path", "/not/on/this/machine")
    assert "attention.hybrid-backend-refused" not in errors(elsewhere)


@pytest.mark.parametrize("command", ["doctor", "smoke"])
def test_a_model_that_is_not_there_is_wrong_usage(command: str, sm120kit: Command, saved: Saved) -> None:
    answer = sm120kit(command, "--snapshot", saved(STACK), "--model", "/no/such/model", "--fail-on", "never")
    assert (answer.code, answer.out) == (2, "")
    assert "--model /no/such/model: /no/such/model/config.json cannot be read: No such file" in answer.err


def test_a_healthy_line_is_silent(sm120kit: Command, saved: Saved) -> None:
    line = ["--model-path", "/m", "--attention-backend", "flashinfer", "--mem-fraction-static", "0.85", "--tp-size=2"]
    answer = sm120kit("doctor", "--snapshot", saved(STACK), "--json", "--", *line)
    assert errors(answer) == {}


def test_what_was_asked_for_is_shown(sm120kit: Command, saved: Saved, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(QWEN3_NEXT_80B))
    path = saved(STACK)
    answer = sm120kit("doctor", "--snapshot", path, "-v", "--model", str(tmp_path), "--", "--tp", "2", "--port", "81")
    shown = " ".join(answer.out.split())
    assert "Asked for" in shown
    assert "Qwen3NextForCausalLM, MHA or GQA, hybrid with Gated DeltaNet, 512 experts, bfloat16" in shown
    assert "tp_size 2 --tp 2" in shown
    assert "Asked for" not in sm120kit("doctor", "--snapshot", path, "-v").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--", "--tp", "2"], f"--sglang {newest_version()}"),
        (["--sglang", "newest", "--", "--tp", "2"], "is no version"),
        (["stray"], "unexpected extra argument"),
        (["--", "stray"], "unexpected extra argument"),
    ],
)
def test_what_cannot_be_understood(sm120kit: Command, saved: Saved, arguments: list[str], words: str) -> None:
    answer = sm120kit("doctor", "--snapshot", saved(snapshot()), *arguments)
    assert answer.code == 2
    assert words in " ".join(answer.err.split())

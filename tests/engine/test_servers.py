"""Genuine SGLang servers against their plan: what they grant is what was predicted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sm120kit.cli.main import main
from sm120kit.smoke.tiny_model import write_tiny_model
from tests.engine.alike import check_stand_in
from tests.engine.servers import serving
from tests.engine.venvs import VERSIONS

pytestmark = pytest.mark.engine

HOST_MEMORY_DRIFTS = 0.04
"""On a CPU "free memory" is the host's, and others use it between two measurements: the pool must be some GiB."""

CAPPED = [
    ("--max-total-tokens", "8192", "--context-length", "2048", "--mem-fraction-static", "0.1"),
    (
        "--max-total-tokens",
        "1000",
        "--max-running-requests",
        "700",
        "--mem-fraction-static",
        "0.1",
        "--page-size",
        "16",
    ),
]
FREE = ("--mem-fraction-static", "0.25", "--max-running-requests", "64", "--context-length", "4096")


@pytest.fixture(scope="session", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """One of the versions that run on a CPU."""
    return str(request.param)


def _check(arguments: tuple[str, ...], version: str, model: Path, checked: str, capsys: Any) -> dict[str, Any]:
    """The plan for these arguments, beside that server or log."""
    capsys.readouterr()
    code = main(
        ["plan", str(model), "--sglang", version, "--weights-gib", "0.001", "--check", checked, "--json",
         *(() if checked.endswith(".log") else ("--gpu", "12.0", "--free-gib", "16")), "--", *arguments]
    )  # fmt: skip
    said = capsys.readouterr()
    assert code == 0, said.err
    plan: dict[str, Any] = json.loads(said.out)
    return plan


def _seen(plan: dict[str, Any], what: str) -> tuple[float, float]:
    found = next(each for each in plan["check"]["differences"] if each["what"] == what)
    return found["predicted"], found["seen"]


@pytest.mark.parametrize("arguments", [*CAPPED, FREE], ids=["capped", "capped-and-paged", "by-memory"])
def test_granted_as_predicted(version: str, arguments: tuple[str, ...], tmp_path: Path, capsys: Any) -> None:
    model = write_tiny_model(tmp_path / "model")
    with serving(version, model, tmp_path, arguments) as running:
        by_log = _check(arguments, version, model, str(running.log), capsys)
        by_address = _check(arguments, version, model, running.address, capsys) if arguments in CAPPED else None
        if arguments is CAPPED[0]:
            check_stand_in(running, version, model, arguments, tmp_path)  # here, since a start takes a minute
    predicted, seen = _seen(by_log, "requests granted")
    assert predicted == seen
    tokens, seen_tokens = _seen(by_log, "tokens")
    if arguments in CAPPED:
        assert tokens == seen_tokens
        assert by_address is not None
        assert _seen(by_address, "requests granted") == (seen, seen)
        assert _seen(by_address, "tokens") == (seen_tokens, seen_tokens)
        assert by_address["check"]["verdict"] == f"granted {seen:.0f}, as predicted; tokens as predicted"
    else:
        assert tokens == pytest.approx(seen_tokens, rel=HOST_MEMORY_DRIFTS)
    assert by_log["check"]["not_understood"] == []

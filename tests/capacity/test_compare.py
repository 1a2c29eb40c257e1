"""A prediction beside what a server came to."""

from __future__ import annotations

from sm120kit.capacity.compare import compare
from sm120kit.capacity.predict import Server
from sm120kit.engines.sglang.observed import Observed
from tests.planning import GIB, OLD_STRATEGY, QWEN36_27B, server

LINE = (OLD_STRATEGY, "extra_buffer", "--mamba-ssm-dtype", "bfloat16", "--mem-fraction-static", "0.85")

SEEN = Observed(
    source="server.log",
    granted=37,
    tokens=250_771,
    state_slots=188,
    free_before=round(94.16 * GIB),
    free_after=round(43.18 * GIB),
    weights=round(50.98 * GIB),
)


def _server(free: float = 94.16, weights: float = 50.95) -> Server:
    return server(QWEN36_27B, "0.5.12", *LINE, "--max-running-requests", "64", free=free, weights=weights)


def test_by_how_much_it_is_off_and_where() -> None:
    check = compare(_server(), SEEN)
    assert [(each.what, each.predicted, each.seen, each.unit) for each in check.differences] == [
        ("requests granted", 37, 37, "requests"),
        ("tokens", 251_509, 250_771, "tokens"),
        ("state slots", 188, 188, "slots"),
        ("free before loading", 94.16, 94.16, "GiB"),
        ("weights", 50.95, 50.98, "GiB"),
    ]
    assert check.verdict.startswith("granted 37, as predicted; tokens +0.3% off: +0.00 GiB in what was free")
    assert "-0.03 GiB in the weights; with the measured ones the pool is +0.1% off" in check.verdict


def test_a_wrong_prediction_is_called_one() -> None:
    assert compare(_server(free=80), SEEN).verdict.startswith("granted 37, predicted 22; tokens -41.1% off: -14.16 GiB")


def test_numbers_that_the_server_does_not_tell_are_left_out() -> None:
    check = compare(_server(), Observed(source="here", granted=37, tokens=251_509))
    assert [each.what for each in check.differences] == ["requests granted", "tokens"]
    assert check.verdict == "granted 37, as predicted; tokens as predicted"
    assert compare(_server(), Observed(source="here")).verdict == "it does not say how many requests it runs"


def test_a_server_that_did_not_start() -> None:
    failed = Observed(source="server.log", failure="RuntimeError: Not enough memory.")
    assert compare(_server(), failed).verdict == "it did not start: RuntimeError: Not enough memory.; not predicted"
    assert "predicted too: no memory is left" in compare(_server(weights=93), failed).verdict


def test_lines_not_understood_are_carried_along() -> None:
    assert compare(_server(), Observed(source="x", not_understood=("Memory pool …",))).not_understood == (
        "Memory pool …",
    )

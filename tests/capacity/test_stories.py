"""Two servers that granted less than was asked for, as their operators saw it, and what the formulas make of them."""

from __future__ import annotations

import pytest

from sm120kit.capacity.best import most_requests
from sm120kit.capacity.memory import bytes_per_state, bytes_per_token
from sm120kit.capacity.pools import Pools
from sm120kit.capacity.predict import Server, predict
from tests.planning import DRAFTING, GIB, NEW_STRATEGY, OLD_STRATEGY, QWEN36_27B, geometry, server


def test_a_state_and_a_token_of_qwen36_27b() -> None:
    model = geometry(QWEN36_27B)
    assert model.state is not None
    # 48 of 64 layers are linear: (48*128 + 2*16*128) channels * 3 * 2 bytes, and 48 heads * 128 * 128 * 4 bytes.
    assert bytes_per_state(model.state) == 48 * (10_240 * 3 * 2 + 48 * 128 * 128 * 4) == 153_944_064
    assert bytes_per_state(model.state, "bfloat16") == 78_446_592
    # 16 full layers: 4 heads * (256 + 256) * 2 bytes.
    assert bytes_per_token(model, "bfloat16") == 16 * 4 * 512 * 2 == 65_536


def _rtx_pro_6000(strategy: str, dtype: str) -> Pools:
    arguments = (OLD_STRATEGY, strategy, "--mamba-ssm-dtype", dtype, "--mem-fraction-static", "0.85")
    asked = server(QWEN36_27B, "0.5.12", *arguments, "--max-running-requests", "64", free=94.16, weights=50.95)
    return predict(asked).pools


@pytest.mark.parametrize(
    ("strategy", "dtype", "slots", "granted", "tokens"),
    [
        ("extra_buffer", "bfloat16", 188, 37, 251_509),
        ("no_buffer", "bfloat16", 188, 62, 251_509),
        ("extra_buffer", "float32", 96, 19, 251_041),
    ],
)
def test_rtx_pro_6000(strategy: str, dtype: str, slots: int, granted: int, tokens: int) -> None:
    pools = _rtx_pro_6000(strategy, dtype)
    assert (pools.slots, pools.granted, pools.tokens) == (slots, granted, tokens)
    assert tokens == pytest.approx(250_771, rel=0.005)  # what its log said


def _b200(requested: int, **changed: float) -> Server:
    arguments = (OLD_STRATEGY, "extra_buffer", "--mem-fraction-static", "0.84", *DRAFTING)
    return server(
        QWEN36_27B,
        "0.5.11",
        *arguments,
        "--max-running-requests",
        str(requested),
        free=changed.get("free", 177.5),
        weights=51,
    )


@pytest.mark.parametrize(
    ("requested", "granted", "tokens"),
    [
        (16, 16, 768_677),
        (46, 46, 620_690),
        (47, 47, 613_643),
        (48, 46, None),
        (64, 40, None),
        (96, 28, None),
        (128, 16, 214_313),
    ],
)
def test_b200_the_whole_curve(requested: int, granted: int, tokens: int | None) -> None:
    pools = predict(_b200(requested)).pools
    assert pools.granted == granted
    assert tokens in (None, pools.tokens)


def test_b200_as_its_operator_saw_it() -> None:
    prediction = predict(_b200(128))
    assert prediction.pools.slots in (80, 81)
    assert (prediction.pools.granted, prediction.slots_per_request) == (16, 5)
    # 128 * 4 states are set aside; 17 * 4 of them are allocated.
    assert prediction.pools.speculative_reserve == 128 * 4 * 153_944_064
    assert prediction.speculative_states == 17 * 4 * 153_944_064
    # So far more than the 18 GB that the story tells stays free.
    assert prediction.left > 85 * GIB


def test_b200_should_have_asked_for_47() -> None:
    requests, prediction = most_requests(_b200(128), 1)
    assert (requests, prediction.pools.granted) == (47, 47)


def test_b200_a_little_less_memory_and_the_80_slots_of_the_log() -> None:
    pools = predict(_b200(128, free=177.2)).pools
    assert (pools.slots, pools.granted) == (80, 16)


def test_b200_with_the_joint_solution_of_later_versions() -> None:
    arguments = (OLD_STRATEGY, "extra_buffer", "--mem-fraction-static", "0.84", *DRAFTING)
    asked = ("--max-running-requests", "128")
    later = server(QWEN36_27B, "0.5.13.post1", *arguments, *asked, free=177.5, weights=51)
    pools = predict(later).pools
    # budget = 98.1 GiB * 0.9/1.9; one slot and its share of drafting = state * (1 + 4/5)
    assert pools.slots == int(98.1 * GIB * 0.9 / 1.9 // (153_944_064 * 1.8)) == 180
    assert pools.granted == 36


def test_the_same_line_after_an_upgrade_counts_five_states_instead_of_three() -> None:
    line = ("--mem-fraction-static", "0.85", "--max-running-requests", "64")
    before = predict(server(QWEN36_27B, "0.5.12", *line, free=94.16, weights=50.95))
    after = predict(server(QWEN36_27B, "0.5.23", *line, free=94.16, weights=50.95))
    assert (before.slots_per_request, after.slots_per_request) == (3, 5)
    # 100 MiB less beside a vision tower, and one slot for padding: 94 slots where 96 were.
    assert (before.pools.granted, after.pools.granted) == (32, 18)


def test_lazy_snapshots_count_four_states() -> None:
    line = (NEW_STRATEGY, "extra_buffer_lazy", "--mem-fraction-static", "0.85")
    assert predict(server(QWEN36_27B, "0.5.23", *line, free=94.16, weights=50.95)).slots_per_request == 4

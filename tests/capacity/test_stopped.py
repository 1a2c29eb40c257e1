"""What stops a server however much memory there is."""

from __future__ import annotations

from typing import Any

import pytest

from sm120kit.capacity.formulas import choose_formula
from sm120kit.capacity.predict import predict
from sm120kit.capacity.settings import resolve_settings
from sm120kit.capacity.stopped import Stop, stop_of
from sm120kit.engines.sglang import read_launch_line
from tests.models import DEEPSEEK_V3, QWEN3_30B, QWEN3_32B, QWEN3_NEXT_80B
from tests.planning import LLAMA2_7B, QWEN36_27B, geometry, server

FP8 = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}


def _stop(
    config: dict[str, Any], *words: str, version: str = "0.5.23", environment: dict[str, str] | None = None
) -> Stop | None:
    shape = geometry(config)
    line = read_launch_line(words, version, "named")
    return stop_of(shape, resolve_settings(line, choose_formula(version).formula, shape, environment or {}).settings)


@pytest.mark.parametrize(
    ("config", "good"),
    [
        (QWEN3_32B, {1, 2, 4, 8, 16, 32, 64}),
        (QWEN3_30B, {1, 2, 4, 8, 16, 32}),
        # 2,048 columns of an expert: 64 on 32 GPUs are no whole block of 128.
        (DEEPSEEK_V3 | {"moe_intermediate_size": 2048}, {1, 2, 4, 8, 16}),
        # 24 heads, 4 of keys and values, 48 state heads: 3 GPUs can neither share nor double 4.
        (QWEN36_27B, {1, 2, 4, 8}),
        # 16 heads, 2 of keys and values.
        (QWEN3_NEXT_80B, {1, 2, 4, 8, 16}),
        (LLAMA2_7B, {1, 2, 4, 8, 16, 32}),
        # 768 columns of an expert: 192 on 4 GPUs are no whole blocks of 128; 384 on 2 are three.
        (QWEN3_30B | FP8, {1, 2}),
    ],
    ids=["dense", "moe", "mla", "hybrid", "next", "all heads", "blocks"],
)
def test_the_sizes_that_share_a_model_out(config: dict[str, Any], good: set[int]) -> None:
    assert {tp for tp in range(1, 65) if not _stop(config, "--tp-size", str(tp))} == good


def test_experts_that_are_spread_are_not_cut() -> None:
    assert _stop(QWEN3_30B | FP8, "--tp-size", "8")
    assert not _stop(QWEN3_30B | FP8, "--tp-size", "8", "--ep-size", "4")
    assert not _stop(QWEN3_30B | FP8, "--tp-size", "8", "--moe-a2a-backend", "deepep")


def test_the_sizes_that_go_are_named() -> None:
    stop = _stop(QWEN3_32B, "--tp-size", "3")
    assert stop is not None
    assert stop.page == "server.parallel-size"
    assert stop.reason == (
        "the model's 64 attention heads cannot be shared out over 3 GPUs (--tp-size 3); --tp-size 1, 2 or 4 can"
    )


def test_a_server_that_is_stopped_grants_nothing() -> None:
    prediction = predict(server(QWEN36_27B, "0.5.12", "--tp-size", "3", free=90, weights=20))
    assert (prediction.pools.granted, prediction.page) == (0, "server.parallel-size")
    assert "neither shared out nor doubled over 3 GPUs" in prediction.pools.failure


def test_a_context_longer_than_the_model_s() -> None:
    long = ("--context-length", "131072")
    config = QWEN3_32B | {"max_position_embeddings": 40960}
    stop = _stop(config, *long)
    assert stop is not None
    assert stop.page == "server.context-too-long"
    assert "--context-length 131072 is more than the 40,960 tokens" in stop.reason
    assert not _stop(config, "--context-length", "40960")
    assert not _stop(config, *long, environment={"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"})
    assert _stop(config, *long, environment={"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "0"})
    assert not _stop(config, *long, "--json-model-override-args", '{"max_position_embeddings": 131072}')
    # A configuration that does not say how long it is stops nothing.
    assert not _stop({name: value for name, value in config.items() if name != "max_position_embeddings"}, *long)


@pytest.mark.parametrize(
    ("scaling", "stopped"),
    [
        ({"rope_type": "linear", "factor": 4.0}, False),
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}, True),
        ({"rope_type": "llama3", "factor": 8.0}, True),
        ({"type": "dynamic", "factor": 2}, True),
    ],
)
def test_rope_scaling_makes_a_context_longer(scaling: dict[str, Any], stopped: bool) -> None:
    config = QWEN3_32B | {"max_position_embeddings": 40960, "rope_scaling": scaling}
    assert bool(_stop(config, "--context-length", "131072")) is stopped

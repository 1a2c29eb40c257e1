"""Bytes per token and per state, each configuration worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sm120kit.capacity.geometry import geometry_of
from sm120kit.capacity.memory import bytes_per_state, bytes_per_token, kv_dtype, sliding_bytes_per_token
from sm120kit.capacity.memory import slots_per_request as slots
from sm120kit.capacity.predict import predict
from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.model_facts import parse_model_config
from tests.models import DEEPSEEK_V3, QWEN3_32B, QWEN3_NEXT_80B
from tests.planning import GIB, GPT_OSS_20B, LLAMA2_7B, QWEN36_27B, geometry, server


def test_dense_llama2_7b() -> None:
    # Every head has keys and values of its own: 32 heads * (128 + 128) * 32 layers * 2 bytes = 524,288.
    model = geometry(LLAMA2_7B)
    assert bytes_per_token(model, "float16") == 524_288
    # 80 GiB free, 12.55 GiB weights, fraction 0.85: 80 * 0.85 - 12.55 = 55.45 GiB / 512 KiB = 113,561.6 tokens.
    # Nothing asked for: the estimate 113,561 / 4,096 * 512 = 14,195, cut to 4,096; half of the tokens is more.
    asked = server(LLAMA2_7B, "0.5.12", "--mem-fraction-static", "0.85", free=80, weights=12.55)
    pools = predict(asked).pools
    assert (pools.tokens, pools.granted) == (113_561, 4_096)


def test_grouped_queries_qwen3_32b() -> None:
    # 8 heads of keys and values: 8 * (128 + 128) * 64 layers * 2 bytes = 262,144; two GPUs hold 4 heads each.
    model = geometry(QWEN3_32B)
    assert bytes_per_token(model, "bfloat16") == 262_144
    assert bytes_per_token(model, "bfloat16", 2) == 131_072
    assert bytes_per_token(model, "bfloat16", 16) == 32_768  # no GPU holds less than one head
    # 94 GiB free, 61.02 GiB weights, fraction 0.88: 94 * 0.88 - 61.02 = 21.70 GiB / 256 KiB = 88,883.2 tokens.
    line = ("--mem-fraction-static", "0.88", "--max-running-requests", "256")
    pools = predict(server(QWEN3_32B, "0.5.23", *line, free=94, weights=61.02)).pools
    assert (pools.tokens, pools.granted) == (88_883, 256)


def test_latent_attention_deepseek_v3() -> None:
    # One vector for all heads, the same on every GPU: (512 + 64) * 61 layers * 2 bytes = 70,272.
    model = geometry(DEEPSEEK_V3)
    assert bytes_per_token(model, "bfloat16") == bytes_per_token(model, "bfloat16", 8) == 70_272
    # 8 GPUs, 177 GiB free, 84 GiB weights on each, fraction 0.8: 57.6 GiB / 70,272 bytes = 880,116.2 tokens.
    line = ("--tp-size", "8", "--mem-fraction-static", "0.8", "--max-running-requests", "64")
    pools = predict(server(DEEPSEEK_V3, "0.5.12", *line, free=177, weights=84)).pools
    assert (pools.tokens, pools.granted) == (int(57.6 * GIB) // 70_272, 64)
    assert pools.tokens == 880_116
    # 0.5.23 counts the layer that drafts: 70,272 + 70,272 / 61 = 71,424.
    drafting = (*line, "--speculative-algorithm", "NEXTN")
    later = predict(server(DEEPSEEK_V3, "0.5.23", *drafting, free=177, weights=84, draft_layers=1))
    assert later.bytes_per_token == 71_424


def test_sliding_window_gpt_oss_20b() -> None:
    # 12 full layers: 8 * (64 + 64) * 12 * 2 bytes = 24,576; 12 sliding ones the same, for 0.8 as many tokens.
    model = geometry(GPT_OSS_20B)
    assert (bytes_per_token(model, "bfloat16"), sliding_bytes_per_token(model, "bfloat16")) == (24_576, 24_576)
    # 30 GiB free, 12.8 GiB weights, fraction 0.87: 13.3 GiB / (24,576 * 1.8) = 322,825.6 tokens; 0.8 of them are
    # 258,260.
    pools = predict(server(GPT_OSS_20B, "0.5.12", "--mem-fraction-static", "0.87", free=30, weights=12.8)).pools
    assert (pools.tokens, pools.sliding_tokens) == (322_825, 258_260)


def test_sliding_window_sized_by_the_requests() -> None:
    # 0.5.23 without prefix cache: 64 requests * (128 window + 128 interval + 2 pages of 1) + 2 chunks of 4,096 + 1 page
    # = 24,705 tokens of 24,576 bytes; the rest of 13.3 GiB goes to the full layers: 556,380.9.
    line = ("--mem-fraction-static", "0.87", "--disable-radix-cache", "--max-running-requests", "64")
    asked = server(GPT_OSS_20B, "0.5.23", *line, "--chunked-prefill-size", "4096", free=30, weights=12.8)
    pools = predict(asked).pools
    assert pools.sliding_tokens == 24_705
    assert pools.tokens == int((13.3 * GIB - 24_705 * 24_576) // 24_576) == 556_380


def test_hybrid_qwen3_next_80b() -> None:
    # 36 linear layers: (32*128 + 2*16*128) * 3 * 2 + 32 * 128 * 128 * 4 bytes = 2,146,304; times 36 = 77,266,944.
    # 12 full layers: 2 heads * (256 + 256) * 12 * 2 bytes = 24,576.
    model = geometry(QWEN3_NEXT_80B)
    assert model.state is not None
    assert bytes_per_state(model.state) == 77_266_944
    assert bytes_per_token(model, "bfloat16") == 24_576
    # 94 GiB free, 45 GiB weights, fraction 0.87: 36.78 GiB; 0.9/1.9 of it = 17.42 GiB = 242.1 states. 242 // 3 = 80.
    pools = predict(server(QWEN3_NEXT_80B, "0.5.12", "--mem-fraction-static", "0.87", free=94, weights=45)).pools
    assert (pools.slots, pools.granted, pools.tokens) == (242, 80, 846_094)
    # Two GPUs: 8 of 16 key heads and 16 of 32 value heads on each, so half a state.
    assert bytes_per_state(model.state, tp=2) == 77_266_944 // 2


def test_quantised_keys_and_values_of_deepseek_v3_and_qwen3_32b() -> None:
    model = geometry(QWEN3_32B)
    assert bytes_per_token(model, "fp8_e4m3") == 131_072
    # 4 bits, and a byte of scale for every 16 numbers: 131,072 / 2 + 131,072 / 16 = 73,728.
    assert bytes_per_token(model, "fp4_e2m1") == 73_728
    # 8 bits, and a byte of scale for every 32: 131,072 + 4,096.
    assert bytes_per_token(model, "mxfp8") == 135_168
    # (576 * 61) / 2 + 576 / 16 * 61 = 17,568 + 2,196.
    assert bytes_per_token(geometry(DEEPSEEK_V3), "fp4_e2m1") == 19_764


def test_a_checkpoint_that_asks_for_fp8_keys_and_values() -> None:
    asks = {**QWEN3_32B, "quantization_config": {"quant_method": "modelopt", "kv_cache_quant_algo": "FP8"}}
    assert kv_dtype(geometry(asks), "auto", "bfloat16") == "fp8_e4m3"
    assert kv_dtype(geometry(asks), "bfloat16", "bfloat16") == "bfloat16"
    assert kv_dtype(geometry(QWEN3_32B), "auto", "bfloat16") == "bfloat16"


def test_keys_that_no_gpu_can_split_are_held_whole() -> None:
    state = geometry(QWEN36_27B).state
    assert state is not None
    # One group of keys for all heads (Mamba 2): on 2 GPUs both hold it. (48*128 + 2*2*128)/2 * 3 * 2 + 24*128*128*4.
    one = replace(state, groups=1, convolution_channels=48 * 128 + 2 * 128)
    assert bytes_per_state(one, tp=2) == 48 * (3_328 * 3 * 2 + 24 * 128 * 128 * 4)


@pytest.mark.parametrize(
    ("strategy", "radix", "overlap", "each"),
    [
        ("no_buffer", True, False, 3),
        ("extra_buffer", True, True, 5),
        ("extra_buffer", True, False, 4),
        ("extra_buffer_lazy", True, True, 4),
        ("no_buffer", False, True, 1),
    ],
)
def test_states_for_each_request(strategy: str, radix: bool, overlap: bool, each: int) -> None:
    assert slots(strategy, radix=radix, overlap=overlap) == each


@pytest.mark.parametrize(("states", "granted"), [(47, 9), (64, 12)])
def test_points_that_users_published(states: int, granted: int) -> None:
    """sgl-project/sglang#38846: 47 states at 5 each served 9 requests, 64 served 12."""
    line = ("--mamba-scheduler-strategy", "extra_buffer", "--max-mamba-cache-size", str(states))
    asked = ("--max-running-requests", "128", "--mem-fraction-static", "0.85")
    assert predict(server(QWEN36_27B, "0.5.12", *line, *asked, free=94.16, weights=50.95)).pools.granted == granted


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"architectures": ["NobodyKnowsForCausalLM"]},
            "what NobodyKnowsForCausalLM keeps in memory is not known here",
        ),
        ({"num_hidden_layers": "64"}, "gives no number above 0 for num_hidden_layers"),
        ({"num_key_value_heads": 0}, "gives no number above 0 for num_key_value_heads"),
        ({"num_hidden_layers": None}, "gives no number above 0 for num_hidden_layers"),
        ({"architectures": ["GptOssForCausalLM"]}, "gives no number above 0 for layer_types, sliding_window"),
        ({"architectures": ["DeepseekV3ForCausalLM"]}, "gives no number above 0 for kv_lora_rank, qk_rope_head_dim"),
        ({"architectures": ["Qwen3NextForCausalLM"]}, "gives no number above 0 for its linear layers"),
    ],
)
def test_a_model_that_cannot_be_sized_is_refused(changed: dict[str, Any], said: str) -> None:
    import json

    facts = parse_model_config(json.dumps({**QWEN3_32B, **changed}), "/model/config.json")
    with pytest.raises(Sm120kitError, match=said):
        geometry_of(facts)

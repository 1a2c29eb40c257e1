"""What the parts of a checkpoint take by its configuration alone, beside checkpoints as published."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sm120kit.capacity.estimated import embedding_bytes, expert_bytes, whole_bytes
from sm120kit.snapshot.model_facts import ModelFacts, parse_model_config
from tests.models import QWEN3_30B, QWEN3_32B
from tests.planning import GIB

MOE = QWEN3_30B | {"vocab_size": 151936, "tie_word_embeddings": False}
DENSE = QWEN3_32B | {"vocab_size": 151936, "intermediate_size": 25600}
DEEPSEEK: dict[str, Any] = {
    "architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 7168, "num_hidden_layers": 61, "vocab_size": 129280,
    "num_attention_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256, "num_experts_per_tok": 8,
    "n_shared_experts": 1, "first_k_dense_replace": 3,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}  # fmt: skip


def _facts(config: dict[str, Any]) -> ModelFacts:
    return parse_model_config(json.dumps(config), "/model/config.json")


@pytest.mark.parametrize(
    ("config", "gib"),
    [(DENSE, 61.0), (MOE, 56.9), (DEEPSEEK, 641.0)],
    ids=["Qwen3-32B", "Qwen3-30B-A3B", "DeepSeek-V3"],
)
def test_whole_checkpoints(config: dict[str, Any], gib: float) -> None:
    assert whole_bytes(_facts(config)) / GIB == pytest.approx(gib, rel=0.05)


def test_one_token_needs_three_of_thirty_billion() -> None:
    facts = _facts(MOE)
    read = whole_bytes(facts) - embedding_bytes(facts) - expert_bytes(facts) * (128 - 8) // 128
    assert 2.9e9 < read / 2 < 3.3e9


def test_experts_of_some_layers_alone() -> None:
    assert _facts(DEEPSEEK).expert_layers == 58
    assert _facts(MOE).expert_layers == 48
    assert _facts(MOE | {"decoder_sparse_step": 2}).expert_layers == 24
    assert _facts(MOE | {"mlp_only_layers": [0, 1]}).expert_layers == 46
    assert _facts(DENSE).expert_layers == 0


def test_a_table_that_is_the_head_too_is_read() -> None:
    assert embedding_bytes(_facts(MOE)) == 151936 * 2048 * 2
    assert embedding_bytes(_facts(MOE | {"tie_word_embeddings": True})) == 0


def test_a_configuration_that_leaves_a_size_out_tells_nothing() -> None:
    assert whole_bytes(_facts({name: value for name, value in DENSE.items() if name != "intermediate_size"})) == 0

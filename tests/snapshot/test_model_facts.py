"""What a config.json says of a model: published shapes, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.model_dir import read_model
from sm120kit.snapshot.model_facts import ModelConfigError, ModelFacts, parse_model_config
from tests.models import DEEPSEEK_V3, QWEN3_32B, QWEN3_NEXT_80B
from tests.servers import FP8_EXPERTS, GPT_OSS, NVFP4_EXPERTS, QWEN35_VL


def parse(config: dict[str, Any], **changes: Any) -> ModelFacts:
    return parse_model_config(json.dumps({**config, **changes}), "/m/config.json")


def test_grouped_query_attention() -> None:
    found = parse(QWEN3_32B)
    assert (found.attention, found.kv_heads, found.head_dim, found.layers) == ("mha", 8, 128, 64)
    assert (found.attention_layers, found.linear, found.experts, found.weights) == (64, None, 0, "bfloat16")


def test_a_head_dim_that_is_not_said_follows_from_the_width() -> None:
    plain = {key: value for key, value in QWEN3_32B.items() if key not in ("head_dim", "num_key_value_heads")}
    found = parse(plain)
    assert (found.head_dim, found.v_head_dim, found.kv_heads) == (80, 80, 64)


def test_mla() -> None:
    found = parse(DEEPSEEK_V3)
    assert (found.attention, found.kv_lora_rank, found.qk_rope_head_dim) == ("mla", 512, 64)
    assert (found.experts, found.shared_experts, found.experts_per_token) == (256, 1, 8)
    assert found.quantisation
    assert (found.weights, found.quantisation.block_size) == ("fp8", (128, 128))


def test_hybrid_by_interval() -> None:
    found = parse(QWEN3_NEXT_80B)
    assert found.hybrid_gdn
    assert found.linear
    assert (found.linear.layers, found.attention_layers) == (36, 12)
    assert (found.linear.key_heads, found.linear.value_heads, found.linear.convolution_width) == (16, 32, 4)


def test_hybrid_by_layer_types_behind_a_multimodal_model() -> None:
    found = parse(QWEN35_VL)
    assert found.architecture == "Qwen3_5ForConditionalGeneration"
    assert (found.multimodal, found.vision_layers, found.vision_hidden_size) == (True, 27, 1152)
    assert found.linear
    assert (found.linear.layers, found.attention_layers, found.linear.state_dtype) == (3, 1, "float32")
    assert (found.kv_heads, found.head_dim, found.dtype) == (4, 256, "bfloat16")


def test_mamba_by_pattern() -> None:
    config = {
        "architectures": ["NemotronHForCausalLM"],
        "num_hidden_layers": 6,
        "hybrid_override_pattern": "M-M*M-",
        "mamba_num_heads": 128,
        "mamba_head_dim": 80,
        "ssm_state_size": 128,
    }
    found = parse(config)
    assert found.linear
    assert (found.linear.kind, found.linear.layers, found.hybrid_gdn) == ("mamba2", 3, False)


def test_sinks_and_sliding_window() -> None:
    found = parse(GPT_OSS)
    assert (found.attention_sinks, found.sliding_window, found.sliding_layers, found.weights) == (
        True,
        128,
        18,
        "mxfp4",
    )
    assert not parse(QWEN3_32B).attention_sinks


@pytest.mark.parametrize(
    ("quantisation", "weights"),
    [
        ({"quant_method": "fp8", "activation_scheme": "dynamic"}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "modelopt_fp4"}, "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "awq", "bits": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}, "nvfp4"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"g": {"weights": {"type": "float", "num_bits": 4, "group_size": 16}}},
            },
            "nvfp4",
        ),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"type": "int", "num_bits": 8}}}},
            "int8",
        ),
        ({"quant_method": "bitsandbytes"}, "unknown"),
        ({}, "bfloat16"),
        ({"quant_method": 7}, "bfloat16"),
    ],
)
def test_how_weights_are_stored(quantisation: dict[str, Any], weights: str) -> None:
    assert parse(QWEN3_32B, quantization_config=quantisation).weights == weights


def test_quantised_experts() -> None:
    assert (parse(FP8_EXPERTS).weights, parse(NVFP4_EXPERTS).weights) == ("fp8", "nvfp4")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "{}", '{"architectures": []}', '{"architectures": [3]}', '{"architectures": "A"}']
)
def test_what_is_no_model(text: str) -> None:
    with pytest.raises(ModelConfigError, match=r"/m/config\.json"):
        parse_model_config(text, "/m/config.json")


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted({*QWEN3_NEXT_80B, *DEEPSEEK_V3, *GPT_OSS, *QWEN35_VL, "layers_block_type", "hybrid_override_pattern"})


@given(st.dictionaries(st.sampled_from(KEYS), JUNK))
def test_junk_gives_facts_and_no_crash(config: dict[str, Any]) -> None:
    found = parse_model_config(json.dumps({**config, "architectures": ["A"]}), "/m/config.json")
    assert found.layers >= found.attention_layers >= 0


def test_reads_a_folder_or_the_file_itself(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(QWEN3_32B))
    for path in (str(tmp_path), f"{tmp_path}/", f"{tmp_path}/config.json"):
        fact = read_model(Files(), path)
        assert isinstance(fact, Known)
        assert fact.value.architecture == "Qwen3ForCausalLM"
        assert fact.source.where == f"{tmp_path}/config.json"


def test_modelopt_says_in_a_file_of_its_own_how_weights_are_stored(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(QWEN3_32B))
    said = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(said))
    fact = read_model(Files(), str(tmp_path))
    assert isinstance(fact, Known)
    assert fact.value.quantisation
    assert (fact.value.weights, fact.value.quantisation.kv_cache) == ("nvfp4", "fp8")


def test_inside_an_unpacked_image(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "config.json").symlink_to("/etc/passwd")
    assert isinstance(read_model(Files(str(tmp_path)), "/models"), Unknown)


def test_infinity_is_no_mistake() -> None:
    text = json.dumps({**QWEN3_32B, "time_step_limit": [0.0, float("inf")]})
    assert parse_model_config(text, "/m/config.json").layers == 64


def test_hostile_folders(tmp_path: Path) -> None:
    assert isinstance(read_model(Files(), str(tmp_path / "absent")), Unknown)
    for name, content in {"huge": b" " * (5 << 20), "bytes": b"\xff\xfe\x00", "deep": b"[" * 100_000}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_bytes(content)
    (tmp_path / "folder" / "config.json").mkdir(parents=True)
    (tmp_path / "cyclic").mkdir()
    (tmp_path / "cyclic" / "config.json").symlink_to("config.json")
    for name in ("huge", "bytes", "deep", "folder", "cyclic"):
        fact = read_model(Files(), str(tmp_path / name))
        assert isinstance(fact, Unknown)
        assert str(tmp_path / name) in fact.reason

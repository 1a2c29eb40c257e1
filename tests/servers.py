"""Servers that are asked about in tests: launch lines read by the real reader, and models as published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sm120kit.diagnosis.case import NamedGpu, Request
from sm120kit.engines.sglang import read_launch_line
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.model_facts import ModelFacts, parse_model_config
from tests.models import QWEN3_30B

QWEN35_VL: dict[str, Any] = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "text_config": {
        "model_type": "qwen3_5_text",
        "dtype": "bfloat16",
        "hidden_size": 5120,
        "num_hidden_layers": 4,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"],
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "mamba_ssm_dtype": "float32",
    },
    "vision_config": {"depth": 27, "hidden_size": 1152},
}
GPT_OSS: dict[str, Any] = {
    "architectures": ["GptOssForCausalLM"],
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "num_hidden_layers": 36,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 18,
    "num_local_experts": 128,
    "experts_per_token": 4,
    "quantization_config": {"quant_method": "mxfp4"},
}
FP8_EXPERTS: dict[str, Any] = {
    **QWEN3_30B,
    "quantization_config": {
        "quant_method": "compressed-tensors",
        "format": "float-quantized",
        "config_groups": {"group_0": {"weights": {"type": "float", "num_bits": 8, "strategy": "channel"}}},
    },
}
NVFP4_EXPERTS: dict[str, Any] = {
    **{key: value for key, value in FP8_EXPERTS.items() if key != "quantization_config"},
    "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": None},
}


def model(config: Mapping[str, Any], **changes: Any) -> Known[ModelFacts]:
    """A model read from its config.json."""
    path = "/models/m/config.json"
    return Known(parse_model_config(json.dumps({**config, **changes}), path), Source("file", path))


NO_CONFIG = Unknown("/models/m/config.json cannot be read: No such file or directory")


def asked(
    line: str | None = "",
    *,
    sglang: str = "0.5.23",
    gpu: str = "12.0",
    of: Mapping[str, Any] | Fact[ModelFacts] | None = None,
) -> Request:
    """What ``doctor --sglang V --gpu C --model DIR -- LINE`` asks; ``line`` None = no launch line at all."""
    launch = None if line is None else read_launch_line(line.split(), sglang, f"--sglang {sglang}")
    facts = model(of) if isinstance(of, dict) else of
    gpus = (NamedGpu(gpu, gpu),) if gpu else ()
    return Request(gpus=gpus, launch=launch, model=facts)  # type: ignore[arg-type]  # a dict is a model by now

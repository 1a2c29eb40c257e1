"""Plans in tests: models as published, launch lines read by the real reader, checkpoints of headers without tensors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sm120kit.capacity.formulas import choose_formula
from sm120kit.capacity.geometry import Geometry, geometry_of
from sm120kit.capacity.predict import Server
from sm120kit.capacity.settings import Settings, resolve_settings
from sm120kit.engines.sglang import read_launch_line
from sm120kit.snapshot.model_facts import parse_model_config

GIB = 1 << 30

QWEN36_27B: dict[str, Any] = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "text_config": {
        "model_type": "qwen3_5_text",
        "dtype": "bfloat16",
        "hidden_size": 5120,
        "num_hidden_layers": 64,
        "full_attention_interval": 4,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "mamba_ssm_dtype": "float32",
        "max_position_embeddings": 262144,
    },
    "vision_config": {"depth": 27, "hidden_size": 1152},
}


LLAMA2_7B: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "float16",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 4096,
}


GPT_OSS_20B: dict[str, Any] = {
    "architectures": ["GptOssForCausalLM"],
    "model_type": "gpt_oss",
    "torch_dtype": "bfloat16",
    "hidden_size": 2880,
    "num_hidden_layers": 24,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
    "max_position_embeddings": 131072,
    "num_local_experts": 32,
    "num_experts_per_tok": 4,
    "quantization_config": {"quant_method": "mxfp4"},
}

OLD_STRATEGY = "--mamba-scheduler-strategy"
NEW_STRATEGY = "--mamba-radix-cache-strategy"
DRAFTING = ("--speculative-algorithm", "NEXTN", "--speculative-num-steps", "3", "--speculative-eagle-topk", "1",
            "--speculative-num-draft-tokens", "4")  # fmt: skip


def geometry(config: Mapping[str, Any]) -> Geometry:
    """What this configuration's model keeps in memory."""
    return geometry_of(parse_model_config(json.dumps(config), "/model/config.json"))


def settings(config: Mapping[str, Any], version: str, *arguments: str) -> Settings:
    """What this launch line comes to."""
    formula = choose_formula(version).formula
    return resolve_settings(read_launch_line(arguments, version), formula, geometry(config)).settings


def server(
    config: Mapping[str, Any],
    version: str,
    *arguments: str,
    free: float,
    weights: float,
    gpu_memory_mib: int = 0,
    **changed: Any,
) -> Server:
    """One server; ``free`` and ``weights`` in GiB."""
    return Server(
        formula=choose_formula(version).formula,
        geometry=geometry(config),
        settings=settings(config, version, *arguments),
        free=round(free * GIB),
        weights=round(weights * GIB),
        gpu_memory_mib=gpu_memory_mib,
        **changed,
    )


def write_config(folder: Path, config: Mapping[str, Any]) -> Path:
    """Write a config.json into ``folder`` and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return path


Tensor = tuple[str, str, Sequence[int]]
"""Name, type as safetensors writes it, shape."""

_BYTES = {"F32": 4, "BF16": 2, "F16": 2, "F8_E4M3": 1, "U8": 1, "I32": 4}


def write_safetensors(path: Path, tensors: Sequence[Tensor]) -> Path:
    """A safetensors file as large as its header says, whose tensors are a hole in the file."""
    header, end = {}, 0
    for name, dtype, shape in tensors:
        size = _BYTES[dtype]
        for side in shape:
            size *= side
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)
    return path

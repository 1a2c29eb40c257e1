"""The model of a rehearsal that names none: a configuration of our own, and weights that exist nowhere."""

from __future__ import annotations

import json
from pathlib import Path

NAME = "rehearsal-model"
"""Folder of the model inside the fleet's folder, and its served name."""

ARGUMENTS = ("--max-running-requests", "32")
"""SGLang arguments where none are given: so many that a batch is seen to fill, so few that any machine drives it."""

REASONING_PARSER = "qwen3"

WEIGHTS = 1_200_000_000
"""Bytes: what a checkpoint of this shape would weigh in bfloat16."""

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "torch_dtype": "bfloat16",
    "hidden_act": "silu",
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}


def write_model(folder: Path) -> Path:
    """Make the model's folder inside ``folder``; returns it. It holds a config.json and no weights."""
    model = folder / NAME
    model.mkdir(mode=0o700, parents=True, exist_ok=True)
    (model / "config.json").write_text(json.dumps(CONFIG, indent=1))
    return model

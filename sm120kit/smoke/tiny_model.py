"""A model small enough for any machine, made on the spot: SGLang invents its weights (``--load-format dummy``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_LETTERS = 256
_END = "<|end|>"

CONFIG: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "torch_dtype": "bfloat16",
    "hidden_act": "silu",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "vocab_size": 320,
    "tie_word_embeddings": False,
    "eos_token_id": _LETTERS,
}
"""Two layers with heads of a width that every attention backend has kernels for."""

CHAT_TEMPLATE = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant: "


def write_tiny_model(folder: Path) -> Path:
    """Write configuration and tokenizer into ``folder``, which is made; returns it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": _END,
        "chat_template": CHAT_TEMPLATE,
    }
    for name, content in (
        ("config.json", CONFIG),
        ("tokenizer_config.json", tokenizer),
        ("tokenizer.json", _tokenizer()),
    ):
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def _tokenizer() -> dict[str, Any]:
    """Every byte is a token; in the format of the tokenizers package."""
    bytewise = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": _LETTERS, "content": _END, **end}],
        "normalizer": None,
        "pre_tokenizer": bytewise,
        "post_processor": None,
        "decoder": bytewise,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {letter: number for number, letter in enumerate(_alphabet())},
            "merges": [],
        },
    }


def _alphabet() -> list[str]:
    """What byte-level tokenizers write for each of the 256 bytes: itself where that can be seen, else the next unused
    character from U+0100 on."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    unseen = iter(range(0x100, 0x200))
    return sorted(chr(byte) if byte in seen else chr(next(unseen)) for byte in range(_LETTERS))

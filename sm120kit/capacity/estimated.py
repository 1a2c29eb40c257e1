"""What the parts of a checkpoint take by its configuration alone, where no checkpoint is read. Bytes; pure."""

from __future__ import annotations

from sm120kit.snapshot.model_facts import ModelFacts

_BITS = {"fp8": 8.1, "int8": 8.1, "nvfp4": 4.5, "int4": 4.5, "mxfp4": 4.25}
"""Bits of an element of quantised weights, scales included; others are loaded with 16."""

_UNQUANTISED = 2


def expert_bytes(facts: ModelFacts, *, quantised: bool = False) -> int:
    """All routed experts. ``quantised``: matrices become one byte an element while they are loaded."""
    matrices = 3 * facts.hidden_size * (facts.moe_intermediate_size or facts.intermediate_size)
    return int(facts.expert_layers * facts.experts * matrices * _bytes(facts, quantised=quantised))


def embedding_bytes(facts: ModelFacts) -> int:
    """The table of which a step reads a row for each request; 0 where it is the head too, which is read as a whole."""
    return 0 if facts.tied_embeddings else facts.vocab_size * facts.hidden_size * _UNQUANTISED


def whole_bytes(facts: ModelFacts, *, quantised: bool = False) -> int:
    """The whole checkpoint, to within a tenth or so; 0 where the configuration leaves out a size."""
    hidden, dense = facts.hidden_size, facts.layers - facts.expert_layers
    if not (hidden and facts.vocab_size and facts.attention_heads and (facts.intermediate_size or not dense)):
        return 0
    attention = 2 * facts.attention_heads * facts.v_head_dim + 2 * facts.kv_heads * facts.head_dim
    if facts.attention == "mla":  # keys and values are made from one short vector
        attention = 2 * facts.attention_heads * facts.v_head_dim
    matrices = hidden * (facts.layers * attention + 3 * dense * facts.intermediate_size)
    shared = 3 * hidden * facts.expert_layers * facts.shared_experts * facts.moe_intermediate_size
    tables = hidden * facts.vocab_size * _UNQUANTISED * (1 if facts.tied_embeddings else 2)
    each = _bytes(facts, quantised=quantised)
    return int((matrices + shared) * each) + tables + expert_bytes(facts, quantised=quantised)


def _bytes(facts: ModelFacts, *, quantised: bool) -> float:
    return _BITS.get("fp8" if quantised else facts.weights, 8 * _UNQUANTISED) / 8

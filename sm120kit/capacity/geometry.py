"""What one model keeps on a GPU for every token and every request, as numbers. Pure."""

from typing import Literal

import msgspec

from sm120kit.capacity.formulas import Formula
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.versions import older
from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.model_facts import LinearAttention, ModelFacts

Layout = Literal["gqa", "mla", "sliding", "gdn", "mamba2"]


class LayoutRow(Row, frozen=True, kw_only=True):
    """One row of checks/tables/model_layouts.toml."""

    architectures: tuple[str, ...]
    layout: Layout
    extra_buffer: str


class StateShape(msgspec.Struct, frozen=True):
    """The state that linear layers keep for one request."""

    layers: int
    convolution_channels: int
    convolution_width: int
    heads: int
    head_dim: int
    state_size: int
    groups: int
    dtype: str
    """As the configuration asks for it: ``float32``."""


class Geometry(msgspec.Struct, frozen=True):
    """One model's shape, as memory is counted. Counts are those of the whole model, before tensor parallelism."""

    architecture: str
    layout: Layout
    layers: int
    """Layers with keys and values (or a latent vector) for every token."""
    kv_heads: int
    head_dim: int
    v_head_dim: int
    attention_heads: int = 0
    """0 = the configuration does not say."""
    latent_dim: int = 0
    """``kv_lora_rank + qk_rope_head_dim``; 0 without a latent vector."""
    sliding_layers: int = 0
    window: int = 0
    state: StateShape | None = None
    dtype: str = "bfloat16"
    checkpoint_kv: str = ""
    """Type of keys and values that the checkpoint asks for; empty = none."""
    context: int = 0
    """Tokens that the configuration allows, rope scaling counted in; 0 = it does not say."""
    multimodal: bool = False
    vision_layers: int = 0
    vision_hidden_size: int = 0
    draft_layers: int = 0
    """Layers of a draft model inside the checkpoint."""
    experts: int = 0
    experts_per_token: int = 0
    columns: int = 0
    """Width of one expert, or of a layer where there are none; 0 = not known."""
    block: tuple[int, ...] = ()
    """Rows and columns of a quantised block that must not be cut; empty = nothing of the kind."""
    extra_buffer_since: str = ""

    def takes_extra_buffer(self, formula: Formula) -> bool:
        """Whether this version can keep extra states of this model for the prefix cache."""
        return bool(self.extra_buffer_since) and older(formula.version, self.extra_buffer_since) is False


def geometry_of(facts: ModelFacts) -> Geometry:
    """The shape of a model whose layout is known.

    Raises:
        Sm120kitError: its architecture is in no row of the table, or its configuration leaves out a size.
    """
    row = next((row for row in read_table("model_layouts", LayoutRow) if facts.architecture in row.architectures), None)
    if row is None:
        raise Sm120kitError(
            f"{facts.path}: what {facts.architecture} keeps in memory is not known here",
            hint="Known architectures stand in checks/tables/model_layouts.toml; another one needs its row, with the "
            "place in SGLang's source",
        )
    state = _state(facts) if row.layout in ("gdn", "mamba2") else None
    sliding = _sliding_layers(facts) if row.layout == "sliding" else 0
    geometry = Geometry(
        architecture=facts.architecture,
        layout=row.layout,
        layers=(facts.attention_layers if state else facts.layers) - sliding,
        kv_heads=facts.kv_heads,
        head_dim=facts.head_dim,
        v_head_dim=facts.v_head_dim,
        attention_heads=facts.attention_heads,
        latent_dim=facts.kv_lora_rank + facts.qk_rope_head_dim if row.layout == "mla" else 0,
        sliding_layers=sliding,
        window=facts.sliding_window,
        state=state,
        dtype=facts.dtype or "bfloat16",
        checkpoint_kv=facts.quantisation.kv_cache if facts.quantisation else "",
        context=facts.max_positions,
        multimodal=facts.multimodal,
        vision_layers=facts.vision_layers,
        vision_hidden_size=facts.vision_hidden_size,
        draft_layers=facts.draft_layers,
        experts=facts.experts,
        experts_per_token=facts.experts_per_token,
        columns=(facts.moe_intermediate_size if facts.experts else 0) or facts.intermediate_size,
        block=facts.quantisation.block_size if facts.quantisation and facts.quantisation.method == "fp8" else (),
        extra_buffer_since=row.extra_buffer,
    )
    _complete(facts, geometry)
    return geometry


def _sliding_layers(facts: ModelFacts) -> int:
    # Llama 4 names no layer types of its own: every fourth layer is a full one (get_hybrid_layer_ids).
    return facts.layers - facts.layers // 4 if facts.architecture.startswith("Llama4") else facts.sliding_layers


def _state(facts: ModelFacts) -> StateShape:
    linear = facts.linear or LinearAttention("unknown", 0)
    return StateShape(
        layers=linear.layers,
        convolution_channels=linear.value_heads * linear.value_head_dim + 2 * linear.key_heads * linear.key_head_dim,
        convolution_width=linear.convolution_width,
        heads=linear.value_heads,
        head_dim=linear.value_head_dim,
        state_size=linear.key_head_dim,
        groups=linear.key_heads,
        dtype=linear.state_dtype or "float32",
    )


def _complete(facts: ModelFacts, geometry: Geometry) -> None:
    needed = {"num_hidden_layers": facts.layers}
    if geometry.layout == "mla":
        needed |= {"kv_lora_rank": facts.kv_lora_rank, "qk_rope_head_dim": facts.qk_rope_head_dim}
    else:
        needed |= {"num_key_value_heads": facts.kv_heads, "head_dim": facts.head_dim}
    if geometry.layout == "sliding":
        needed |= {"layer_types": geometry.sliding_layers, "sliding_window": facts.sliding_window}
    if geometry.state:
        state = geometry.state
        needed |= {
            "its linear layers": state.layers,
            "linear_num_value_heads": state.heads,
            "linear_num_key_heads": state.groups,
            "linear_value_head_dim": state.head_dim,
            "linear_key_head_dim": state.state_size,
            "linear_conv_kernel_dim": state.convolution_width,
        }
    missing = [name for name, value in needed.items() if not value]
    if missing:
        raise Sm120kitError(
            f"{facts.path} gives no number above 0 for {', '.join(missing)}, and {facts.architecture} cannot be sized "
            "without",
            hint="Take the config.json that belongs to the checkpoint",
        )

"""What a model's config.json says that a server's choices depend on. Parsing alone: nothing is read here.

Names are those of the configuration itself. The text model of a multimodal one stands in ``text_config`` (Gemma,
Qwen-VL), ``llm_config`` or ``language_config``; where both levels name a thing, the inner one counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sm120kit.snapshot.types.base import Struct

AttentionKind = Literal["mha", "mla"]
LinearKind = Literal["gdn", "mamba2", "kda", "lightning", "unknown"]

_TEXT_LEVELS = ("text_config", "llm_config", "language_config", "thinker_config")
_GDN_MODEL_TYPES = ("qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text", "jet_nemotron")
_SINK_ARCHITECTURES = ("GptOssForCausalLM",)
_MOST_LAYERS = 10_000
_KV_HEADS = ("num_key_value_heads", "multi_query_group_num")
_CONTEXT_KEYS = (
    "max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings", "n_positions",
)  # fmt: skip


class LinearAttention(Struct, frozen=True):
    """The layers of a hybrid model that keep a state per request instead of keys and values per token."""

    kind: LinearKind
    layers: int
    key_heads: int = 0
    value_heads: int = 0
    key_head_dim: int = 0
    value_head_dim: int = 0
    convolution_width: int = 0
    state_dtype: str = ""
    """``float32``; empty where the configuration leaves it open."""


class Quantisation(Struct, frozen=True):
    """How the weights are stored."""

    method: str
    """``quant_method`` as written: ``fp8``, ``modelopt``, ``compressed-tensors``, ``awq``, ``mxfp4``, …"""
    weights: str
    """What that means for the weights: ``fp8``, ``nvfp4``, ``mxfp4``, ``int4``, ``int8``, or ``unknown``."""
    block_size: tuple[int, ...] = ()
    """Rows and columns that share one scale; empty = one scale for a tensor or a channel."""
    kv_cache: str = ""
    """Type of keys and values that the checkpoint asks for."""


class ModelFacts(Struct, frozen=True):
    """One model's shape. A count of 0 means that the configuration does not say."""

    path: str
    architecture: str
    """The first of ``architectures``: the class that a server looks up."""
    model_type: str
    dtype: str
    """Of the weights that are not quantised: ``bfloat16``."""
    attention: AttentionKind
    layers: int
    attention_layers: int
    """Layers that keep keys and values for every token: all but the linear ones."""
    hidden_size: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    kv_lora_rank: int = 0
    qk_rope_head_dim: int = 0
    intermediate_size: int = 0
    max_positions: int = 0
    """Tokens of context, as SGLang derives them: rope scaling counted in."""
    sliding_window: int = 0
    sliding_layers: int = 0
    linear: LinearAttention | None = None
    attention_sinks: bool = False
    multimodal: bool = False
    vision_layers: int = 0
    vision_hidden_size: int = 0
    quantisation: Quantisation | None = None
    experts: int = 0
    experts_per_token: int = 0
    shared_experts: int = 0
    moe_intermediate_size: int = 0
    expert_layers: int = 0
    """Layers with routed experts."""
    vocab_size: int = 0
    tied_embeddings: bool = False
    """Whether the head is the table of embeddings itself; ``False`` where the configuration leaves it open."""
    draft_layers: int = 0
    """Layers for drafting that the checkpoint brings along, where the configuration counts them as SGLang does."""

    @property
    def hybrid_gdn(self) -> bool:
        """Whether some of its layers are Gated DeltaNet."""
        return self.linear is not None and self.linear.kind == "gdn"

    @property
    def weights(self) -> str:
        """What the weights are stored as: ``nvfp4``, ``fp8``, …, else the dtype."""
        return self.quantisation.weights if self.quantisation else self.dtype


class ModelConfigError(ValueError):
    """The text is no model configuration; the message says why."""


def parse_model_config(text: bytes | str, path: str, quantisation: bytes | str = b"") -> ModelFacts:
    """Read the text of a config.json; ``path`` is kept and used in messages.

    ``quantisation`` is the text of the hf_quant_config.json beside it, where ModelOpt wrote one: it counts where
    config.json itself says nothing of how the weights are stored, as in SGLang.

    Raises:
        ModelConfigError: it is no JSON object, or names no architecture.
    """
    raw = _object(text, path)
    if quantisation and not raw.get("quantization_config"):
        inner = _mapping(_object(quantisation, f"the hf_quant_config.json beside {path}").get("quantization"))
        if inner:
            raw["quantization_config"] = {**inner, "quant_method": "modelopt"}
    architectures = raw.get("architectures")
    if not isinstance(architectures, list) or not architectures or not isinstance(architectures[0], str):
        raise ModelConfigError(f"{path} names no architecture")
    return _facts(raw, architectures[0], path)


def _object(text: bytes | str, path: str) -> dict[str, Any]:
    import json  # not msgspec: Mamba's configurations hold Infinity, which only this reader takes

    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelConfigError(f"{path} is no JSON: {error}") from error
    if not isinstance(raw, dict):
        raise ModelConfigError(f"{path} is JSON, but no model configuration")
    return raw


def _facts(raw: Mapping[str, Any], architecture: str, path: str) -> ModelFacts:
    config = _Config(raw)
    layers = config.count("num_hidden_layers", "n_layers", "n_layer", "num_layers")
    layers = min(layers, _MOST_LAYERS)
    hidden, heads = config.count("hidden_size", "n_embd", "d_model"), config.count("num_attention_heads", "n_head")
    rank = config.count("kv_lora_rank")
    linear = _linear(config, architecture, layers)
    head_dim = config.count("head_dim") or (hidden // heads if heads else 0)
    types = _layer_types(config)
    experts = config.count("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
    vision = _mapping(raw.get("vision_config")) or _mapping(_mapping(raw.get("thinker_config")).get("vision_config"))
    return ModelFacts(
        path=path,
        architecture=architecture,
        model_type=config.outer_text("model_type"),
        dtype=config.text("torch_dtype", "dtype").removeprefix("torch."),
        attention="mla" if rank else "mha",
        layers=layers,
        attention_layers=max(layers - (linear.layers if linear else 0), 0),
        hidden_size=hidden,
        attention_heads=heads,
        kv_heads=heads if config.get(*_KV_HEADS) is None else config.count(*_KV_HEADS),
        head_dim=head_dim,
        v_head_dim=config.count("v_head_dim") or head_dim,
        kv_lora_rank=rank,
        qk_rope_head_dim=config.count("qk_rope_head_dim"),
        intermediate_size=config.count("intermediate_size"),
        max_positions=_context(config),
        sliding_window=config.count("sliding_window", "sliding_window_size"),
        sliding_layers=sum(kind == "sliding_attention" for kind in types),
        linear=linear,
        attention_sinks=architecture in _SINK_ARCHITECTURES or _asks_for_sinks(config),
        multimodal=bool(vision or _mapping(raw.get("audio_config")) or raw.get("vision_tower")),
        vision_layers=_Config(vision).count("num_hidden_layers", "depth", "layers"),
        vision_hidden_size=_Config(vision).count("hidden_size", "embed_dim", "width"),
        quantisation=_quantisation(config),
        experts=experts,
        experts_per_token=config.count("num_experts_per_tok", "experts_per_token", "moe_topk", "num_experts_per_token"),
        shared_experts=config.count("n_shared_experts", "num_shared_experts"),
        moe_intermediate_size=config.count("moe_intermediate_size"),
        expert_layers=_expert_layers(config, layers) if experts else 0,
        vocab_size=config.count("vocab_size"),
        tied_embeddings=config.get("tie_word_embeddings") is True,
        draft_layers=config.count("num_nextn_predict_layers"),
    )


class _Config:
    """Two levels of a configuration as one: the text model's own, then the whole's."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        inner = next((level for name in _TEXT_LEVELS if (level := _mapping(raw.get(name)))), {})
        inner = next((level for name in _TEXT_LEVELS if (level := _mapping(inner.get(name)))), inner)
        self.levels = (inner, raw)

    def get(self, *names: str) -> Any:
        """The first of these names that a level holds, the inner level first."""
        for level in self.levels:
            for name in names:
                if level.get(name) is not None:
                    return level[name]
        return None

    def count(self, *names: str) -> int:
        value = self.get(*names)
        value = value[0] if isinstance(value, list) and value else value
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40 else 0

    def text(self, *names: str) -> str:
        value = self.get(*names)
        return value if isinstance(value, str) else ""

    def outer_text(self, name: str) -> str:
        value = self.levels[1].get(name)
        return value if isinstance(value, str) else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _expert_layers(config: _Config, layers: int) -> int:
    """All but the first dense ones and those named as dense, or one in so many."""
    dense = config.get("mlp_only_layers")
    named = len(dense[:_MOST_LAYERS]) if isinstance(dense, list) else 0
    step = config.count("decoder_sparse_step", "interleave_moe_layer_step") or 1
    return max(layers - config.count("first_k_dense_replace") - named, 0) // step


def _context(config: _Config) -> int:
    """As SGLang's get_context_length: the first of its keys, times the factor of a rope scaling that names no original
    length."""
    length = config.count(*_CONTEXT_KEYS)
    scaling = _mapping(config.get("rope_scaling", "rope_parameters"))
    factor = scaling.get("factor")
    named = "original_max_position_embeddings" in scaling or scaling.get("rope_type") == "llama3"
    if named or isinstance(factor, bool) or not isinstance(factor, int | float) or not 1 <= factor < 1 << 20:
        return length
    return int(factor * length)


def _layer_types(config: _Config) -> list[str]:
    types = config.get("layer_types", "layers_block_type")
    return [kind for kind in types[:_MOST_LAYERS] if isinstance(kind, str)] if isinstance(types, list) else []


def _linear(config: _Config, architecture: str, layers: int) -> LinearAttention | None:
    types = _layer_types(config)
    linear = sum(kind in ("linear_attention", "mamba", "recurrent") for kind in types)
    kind = _linear_kind(config, architecture)
    pattern = config.text("hybrid_override_pattern")
    if not linear and pattern:
        linear = pattern.count("M")
    interval = config.count("full_attention_interval")
    if not linear and kind == "gdn" and interval and layers:
        linear = layers - layers // interval
    if not linear:
        return None
    return LinearAttention(
        kind=kind,
        layers=linear,
        key_heads=config.count("linear_num_key_heads", "mamba_n_groups", "n_groups"),
        value_heads=config.count("linear_num_value_heads", "mamba_n_heads", "mamba_num_heads"),
        key_head_dim=config.count("linear_key_head_dim", "mamba_d_state", "ssm_state_size"),
        value_head_dim=config.count("linear_value_head_dim", "mamba_d_head", "mamba_head_dim"),
        convolution_width=config.count("linear_conv_kernel_dim", "mamba_d_conv", "conv_kernel"),
        state_dtype=config.text("mamba_ssm_dtype", "ssm_dtype", "mamba_ssm_cache_dtype"),
    )


def _linear_kind(config: _Config, architecture: str) -> LinearKind:
    types = {config.text("model_type"), config.outer_text("model_type")}
    if types & set(_GDN_MODEL_TYPES) or config.count("linear_num_value_heads"):
        return "gdn"
    if architecture.startswith("KimiLinear") or config.get("linear_attn_config"):
        return "kda"
    if config.count("mamba_d_state", "ssm_state_size", "mamba_num_heads", "mamba_n_heads"):
        return "mamba2"
    return "lightning" if architecture.startswith(("BailingMoeV2_5", "MiniMaxText01")) else "unknown"


def _asks_for_sinks(config: _Config) -> bool:
    """MiMo-V2 has sinks where its flags say so (SGLang's ModelConfig._detect_attention_sinks)."""
    return any(config.get(name) is True for name in ("add_swa_attention_sink_bias", "add_full_attention_sink_bias"))


def _quantisation(config: _Config) -> Quantisation | None:
    found = _mapping(config.get("quantization_config", "compression_config"))
    method = found.get("quant_method")
    if not found or not isinstance(method, str):
        return None
    block = found.get("weight_block_size")
    groups = [_mapping(group) for group in _mapping(found.get("config_groups")).values()]
    kv_scheme = _mapping(found.get("kv_cache_scheme"))
    return Quantisation(
        method=method,
        weights=_weights(method, found, groups),
        block_size=tuple(each for each in block if isinstance(each, int)) if isinstance(block, list) else (),
        kv_cache=str(found.get("kv_cache_quant_algo") or (_number_format(kv_scheme) if kv_scheme else "")).lower(),
    )


def _weights(method: str, found: Mapping[str, Any], groups: list[Mapping[str, Any]]) -> str:
    words = " ".join(str(found.get(name) or "") for name in ("quant_algo", "format", "fmt")).lower()
    words += " " + " ".join(str(group.get("format") or "") for group in groups).lower()
    name = method.lower()
    for weights, signs in (
        ("nvfp4", ("nvfp4", "modelopt_fp4")),
        ("mxfp4", ("mxfp4",)),
        ("fp8", ("fp8", "e4m3", "float-quantized")),
    ):
        if any(sign in name or sign in words for sign in signs):
            return weights
    if name in ("awq", "gptq", "auto-round", "moe_wna16"):
        return f"int{found.get('bits') or found.get('w_bit') or 4}"
    formats = {_number_format(_mapping(group.get("weights"))) for group in groups}
    return formats.pop() if len(formats) == 1 else "unknown"


def _number_format(scheme: Mapping[str, Any]) -> str:
    """``fp8``, ``nvfp4``, ``int4`` from the scheme of compressed-tensors."""
    kind, bits = scheme.get("type"), scheme.get("num_bits")
    if kind == "float" and bits == 4:
        return "nvfp4" if scheme.get("group_size") == 16 else "mxfp4" if scheme.get("group_size") == 32 else "unknown"
    return f"fp{bits}" if kind == "float" else f"int{bits}" if kind == "int" else "unknown"

"""A launch line turned into the settings that decide about memory; what contradicts itself is refused."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from sm120kit.capacity.formulas import Formula
from sm120kit.capacity.geometry import Geometry
from sm120kit.capacity.memory import KV_DTYPES, STATE_DTYPES, kv_dtype
from sm120kit.capacity.refused import refuse_line, refuse_strategy
from sm120kit.diagnosis.launch import LaunchLine
from sm120kit.errors import Sm120kitError

DEFAULT_CONTEXT = 2048
"""What SGLang takes where a configuration says nothing (get_context_length)."""

_LONGER_CONTEXT = ("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", "SGLANG_IS_IN_CI")
"""Variables with which a context longer than the model's is taken."""

_TRUE = ("1", "true", "yes", "y")
_DRAFT_TOKENS = 4
_LLAMA_DRAFT_TOKENS = 8
_NGRAM_DRAFT_TOKENS = 12
_PAGED_BACKENDS = {"flashmla": 64, "trtllm_mla": 64, "trtllm_mha": 64, "cutlass_mla": 128}

_NO_PREFILL_GRAPH = (
    "enable_torch_compile",
    "enable_lora",
    "lora_paths",
    "enable_hierarchical_cache",
    "enable_deterministic_inference",
    "enable_symm_mem",
    "enable_eplb",
    "expert_distribution_recorder_mode",
)


class Settings(msgspec.Struct, frozen=True):
    """What of a launch line decides about memory. ``None`` = not given: the version chooses."""

    requested: int | None = None
    """``--max-running-requests``, or what the version sets in its place for drafting."""
    given_requests: int | None = None
    """``--max-running-requests`` as typed."""
    fraction: float | None = None
    chunk: int | None = None
    most_prefill_tokens: int = 16384
    decode_graph: int | None = None
    no_decode_graph: bool = False
    prefill_graph: int | None = None
    no_prefill_graph: bool = False
    most_tokens: int | None = None
    context: int = DEFAULT_CONTEXT
    given_context: int | None = None
    """``--context-length`` as typed."""
    longer_context: bool = False
    """Whether a context longer than the model's is taken (SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN)."""
    page_size: int = 1
    dtype: str = "bfloat16"
    kv_dtype: str = "bfloat16"
    state_dtype: str = ""
    """Of the states' temporal part; empty for a model without states."""
    strategy: str = "no_buffer"
    radix: bool = True
    overlap: bool = True
    state_share: float = 0.9
    slots: int | None = None
    algorithm: str = ""
    """``EAGLE``, ``EAGLE3``, ``STANDALONE``, ``NGRAM``, …; ``NEXTN`` is EAGLE."""
    draft_tokens: int = 0
    draft_path: str = ""
    """``--speculative-draft-model-path``; empty = what the checkpoint itself brings."""
    sliding_share: float = 0.8
    tp: int = 1
    expert_parallel: int | None = 1
    """``--ep-size``; ``None`` = the way experts are spread follows from something else."""
    quantisation: str = ""
    """``--quantization`` of weights that are stored without."""
    language_only: bool = False
    gpu_transport: bool = False
    """Multimodal features go through a pool on the GPU."""


class Resolved(NamedTuple):
    """The settings, and what was assumed on the way."""

    settings: Settings
    assumptions: tuple[str, ...]


def resolve_settings(
    line: LaunchLine, formula: Formula, geometry: Geometry, environment: Mapping[str, str] = MappingProxyType({})
) -> Resolved:
    """What ``line`` comes to for this model in this version. ``environment``: the server's variables.

    Raises:
        Sm120kitError: the version does not take the line (each problem with what to write instead), settings
            contradict each other, or they ask for something whose memory is not modelled.
    """
    refuse_line(line)
    assumptions: list[str] = []
    algorithm = _algorithm(line)
    requested = line.number("max_running_requests")
    longer = any(environment.get(name, "").lower() in _TRUE for name in _LONGER_CONTEXT)
    longer = longer or line.given.get("json_model_override_args") is not None
    context = _context(line, geometry, assumptions, longer=longer)
    dtype = line.text("dtype")
    dtype = {"half": "float16", "float": "float32"}.get(dtype, dtype)
    dtype = geometry.dtype if dtype in ("", "auto") else dtype
    if dtype == "float32" and line.text("dtype") in ("", "auto"):
        dtype = "bfloat16"
        assumptions.append("weights stored as float32 are loaded as bfloat16, as --dtype auto does")
    settings = Settings(
        requested=requested if requested is not None or not algorithm else formula.requests_when_speculative,
        given_requests=requested,
        fraction=_fraction(line),
        chunk=line.number("chunked_prefill_size"),
        most_prefill_tokens=line.number("max_prefill_tokens") or 16384,
        decode_graph=_largest(line, "cuda_graph_bs_decode", "cuda_graph_max_bs_decode"),
        no_decode_graph=_no_decode_graph(line),
        prefill_graph=_largest(line, "cuda_graph_bs_prefill", "cuda_graph_max_bs_prefill"),
        no_prefill_graph=_no_prefill_graph(line) or any(line.value(name) for name in _NO_PREFILL_GRAPH),
        most_tokens=line.number("max_total_tokens"),
        context=context,
        given_context=line.number("context_length"),
        longer_context=longer,
        page_size=_page_size(line),
        dtype=dtype,
        kv_dtype=_kv(line, geometry, dtype),
        radix=not line.switched_on("disable_radix_cache"),
        overlap=_overlap(line, algorithm),
        state_share=line.share("mamba_full_memory_ratio") or 0.9,
        slots=line.number("max_mamba_cache_size"),
        algorithm=algorithm,
        draft_tokens=_draft_tokens(line, algorithm, geometry, assumptions) if algorithm else 0,
        draft_path=line.text("speculative_draft_model_path"),
        sliding_share=line.share("swa_full_tokens_ratio") or 0.8,
        tp=line.tp_size,
        expert_parallel=_expert_parallel(line),
        quantisation=line.text("quantization"),
        language_only=line.switched_on("language_only") or line.switched_on("language_model_only"),
        gpu_transport=line.text("mm_feature_transport") in ("cuda_ipc", "cuda_vmm"),
    )
    if geometry.state:
        settings = _with_states(settings, line, formula, geometry)
    return Resolved(settings, tuple(assumptions))


def _fraction(line: LaunchLine) -> float | None:
    fraction = line.share("mem_fraction_static")
    if fraction is not None and not 0 < fraction < 1:
        raise Sm120kitError(
            f"{line.words('mem_fraction_static')} is no fraction of memory", hint="Give one between 0 and 1, as in 0.85"
        )
    return fraction


def _context(line: LaunchLine, geometry: Geometry, assumptions: list[str], *, longer: bool) -> int:
    given, derived = line.number("context_length"), geometry.context
    if not derived:
        assumptions.append(f"the configuration names no context length; SGLang takes {DEFAULT_CONTEXT:,} tokens then")
        derived = DEFAULT_CONTEXT
    if given is None:
        return derived
    if given > derived and longer:
        assumptions.append(
            f"--context-length {given} is more than the {derived:,} of the configuration as it lies here, and is taken"
        )
    return given


def _expert_parallel(line: LaunchLine) -> int | None:
    """Backends that send tokens between GPUs spread experts by themselves."""
    spread = line.text("moe_a2a_backend") not in ("", "none") or (line.number("moe_dp_size") or 1) > 1
    return None if spread else max(line.number("ep_size") or 1, 1)


def _largest(line: LaunchLine, *names: str) -> int | None:
    """The largest of the sizes given, by the first of these settings that is given."""
    for name in names:
        value = line.given.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, tuple):
            sizes = [int(each) for each in value if each.isdigit()]
            if sizes:
                return max(sizes)
    return None


def _no_decode_graph(line: LaunchLine) -> bool:
    off = line.switched_on("disable_cuda_graph") or line.switched_on("disable_decode_cuda_graph")
    return off or line.text("cuda_graph_backend_decode") == "disabled"


def _no_prefill_graph(line: LaunchLine) -> bool:
    """Older versions have one switch for it, newer ones a backend by name."""
    asked = line.given.get("cuda_graph_backend_prefill")
    if asked is True:
        return line.words("cuda_graph_backend_prefill").startswith("--disable")
    if asked is not None:
        return asked == "disabled"
    both = "cuda_graph_backend_prefill" in line.defaults and "disable_prefill_cuda_graph" in line.defaults
    return line.switched_on("disable_prefill_cuda_graph") or (both and line.switched_on("disable_cuda_graph"))


def _page_size(line: LaunchLine) -> int:
    given = line.number("page_size")
    if given is not None:
        return max(given, 1)
    return max([_PAGED_BACKENDS.get(backend, 1) for backend in line.attention_backends])


def _kv(line: LaunchLine, geometry: Geometry, dtype: str) -> str:
    kind = kv_dtype(geometry, line.kv_cache_dtype, dtype)
    kind = "bfloat16" if kind == "bf16" else kind
    if kind not in KV_DTYPES:
        raise Sm120kitError(f"keys and values of type {kind} cannot be sized", hint="Give --kv-cache-dtype")
    return kind


def _algorithm(line: LaunchLine) -> str:
    name = line.text("speculative_algorithm").upper()
    if not name:
        return ""
    if name in ("DFLASH", "DSPARK", "UNO", "FROZEN_KV_MTP"):
        raise Sm120kitError(
            f"--speculative-algorithm {name}: the memory of its draft is not modelled",
            hint="The plan knows EAGLE, EAGLE3, NEXTN, STANDALONE and NGRAM",
        )
    return "EAGLE" if name in ("NEXTN", "MTP") else name


def _overlap(line: LaunchLine, algorithm: str) -> bool:
    """Whether the next step is prepared while one runs; drafting a tree of candidates forbids it."""
    tree = bool(algorithm) and (line.number("speculative_eagle_topk") or 1) > 1
    return not line.switched_on("disable_overlap_schedule") and not tree


def _draft_tokens(line: LaunchLine, algorithm: str, geometry: Geometry, assumptions: list[str]) -> int:
    given, steps = line.number("speculative_num_draft_tokens"), line.number("speculative_num_steps")
    topk = line.number("speculative_eagle_topk")
    if algorithm != "NGRAM" and steps is not None and topk == 1:
        return steps + 1
    if given is not None:
        return given
    if algorithm == "NGRAM":
        return _NGRAM_DRAFT_TOKENS
    if steps is not None or topk is not None:
        raise Sm120kitError(
            "--speculative-num-steps or --speculative-eagle-topk without --speculative-num-draft-tokens",
            hint="Give all three: SGLang chooses either all of them or none",
        )
    llama = geometry.architecture == "LlamaForCausalLM" and algorithm != "STANDALONE"
    tokens = _LLAMA_DRAFT_TOKENS if llama else _DRAFT_TOKENS
    assumptions.append(f"{tokens} draft tokens for each request, which SGLang chooses for this model")
    return tokens


def _with_states(settings: Settings, line: LaunchLine, formula: Formula, geometry: Geometry) -> Settings:
    """Strategy and state type of a hybrid model, with what the version makes of contradictions."""
    assert geometry.state is not None
    dtype = line.text("mamba_ssm_dtype") or geometry.state.dtype
    if dtype not in STATE_DTYPES:
        raise Sm120kitError(f"states of type {dtype} cannot be sized", hint="Known are", listed=tuple(STATE_DTYPES))
    strategy, overlap = line.mamba_strategy, settings.overlap
    if strategy == "auto":
        strategy = formula.default_strategy
        if strategy != "no_buffer" and not (geometry.takes_extra_buffer(formula) and settings.radix and overlap):
            strategy = "no_buffer"
    drafts = bool(settings.algorithm)
    refuse_strategy(strategy, formula, geometry, radix=settings.radix, overlap=overlap, drafts=drafts)
    if settings.radix and strategy == "no_buffer" and not settings.algorithm:
        overlap = False
    page = 1 if settings.radix and strategy == "no_buffer" else settings.page_size
    return replace(settings, state_dtype=dtype, strategy=strategy, overlap=overlap, page_size=page)

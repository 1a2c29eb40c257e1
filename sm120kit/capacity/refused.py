"""What no plan is made for: what the version does not take, what contradicts itself, whose memory is not modelled."""

from __future__ import annotations

from sm120kit.capacity.formulas import Formula
from sm120kit.capacity.geometry import Geometry
from sm120kit.diagnosis.launch import LaunchLine, refuse
from sm120kit.errors import Sm120kitError

_NOT_MODELLED = {
    "pp_size": "pipeline parallelism",
    "dp_size": "data parallelism inside one server",
    "attn_cp_size": "context parallelism",
    "attn_dp_size": "attention data parallelism",
    "dcp_size": "decode context parallelism",
}
_LAUNCH_GOES_ON = (
    "Its memory cannot be judged beforehand, and a launch goes on without a plan. What is planned is one server with "
    "tensor parallelism"
)

_SWITCHES_NOT_MODELLED = {
    "enable_dp_attention": "attention data parallelism",
    "enable_unified_memory": "the unified memory pool",
    "enable_hisparse": "HiSparse pools",
    "enable_linear_replayssm_spec": "ReplaySSM",
    "enable_int8_mamba_checkpoint": "int8 state checkpoints",
    "prefill_only_disable_kv_cache": "serving without keys and values",
}


def refuse_line(line: LaunchLine) -> None:
    """Refuse a launch line that no plan can be made for.

    Raises:
        Sm120kitError: the version does not take it (with what to write instead), a number makes no sense, or it asks
            for something whose memory is not modelled.
    """
    _refuse_unread(line)
    _refuse_not_modelled(line)
    _at_least_one(line)


def _refuse_unread(line: LaunchLine) -> None:
    if line.config_file:
        raise Sm120kitError(
            f"--config {line.config_file} holds more settings, and plan does not read it",
            hint="Write them as arguments",
        )
    refuse(line.problems)


def _refuse_not_modelled(line: LaunchLine) -> None:
    # Switches first: with --enable-dp-attention, --dp-size says over how many GPUs that goes.
    for name, words in _SWITCHES_NOT_MODELLED.items():
        if line.switched_on(name):
            raise Sm120kitError(f"{line.words(name)}: {words} is not modelled", hint=_LAUNCH_GOES_ON)
    for name, words in _NOT_MODELLED.items():
        if (line.number(name) or 1) > 1:
            raise Sm120kitError(f"{line.words(name)}: {words} is not modelled", hint=_LAUNCH_GOES_ON)
    if line.given.get("cuda_graph_config") is not None:
        raise Sm120kitError(
            f"{line.words('cuda_graph_config')} is not read here",
            hint="Write --cuda-graph-max-bs-decode instead",
        )
    if (line.text("disaggregation_mode") or "null") != "null":
        raise Sm120kitError(
            f"{line.words('disaggregation_mode')}: disaggregated serving is not modelled", hint=_LAUNCH_GOES_ON
        )


def _at_least_one(line: LaunchLine) -> None:
    for name in ("max_running_requests", "max_total_tokens", "context_length", "max_mamba_cache_size", "tp_size"):
        value = line.given.get(name)
        if isinstance(value, int) and value < 1:
            raise Sm120kitError(f"{line.words(name)} asks for less than one", hint="Give 1 or more")
    for name in ("mamba_full_memory_ratio", "swa_full_tokens_ratio"):
        share = line.share(name)
        if share is not None and share <= 0:
            raise Sm120kitError(f"{line.words(name)} is not above 0", hint="Give a ratio above 0, such as 0.9")


def refuse_strategy(
    strategy: str, formula: Formula, geometry: Geometry, *, radix: bool, overlap: bool, drafts: bool
) -> None:
    """Refuse a strategy of states that the version does not take with this model and these settings.

    Raises:
        Sm120kitError: it does not.
    """
    if strategy not in formula.strategies:
        raise Sm120kitError(
            f"SGLang {formula.version} has no strategy {strategy!r}", hint=f"It has {', '.join(formula.strategies)}"
        )
    extra = strategy != "no_buffer"
    if extra and not geometry.takes_extra_buffer(formula):
        raise Sm120kitError(
            f"SGLang {formula.version} does not take the strategy {strategy} with {geometry.architecture}",
            hint="Take no_buffer",
        )
    if extra and not radix and not formula.draft_first:
        raise Sm120kitError(
            f"the strategy {strategy} and --disable-radix-cache contradict each other",
            hint="Take no_buffer with --disable-radix-cache, or keep the prefix cache",
        )
    if strategy == "extra_buffer_lazy" and not overlap:
        raise Sm120kitError(
            "extra_buffer_lazy and --disable-overlap-schedule contradict each other", hint="Take extra_buffer"
        )
    if strategy == "extra_buffer_lazy" and drafts and not formula.draft_first:
        raise Sm120kitError(f"SGLang {formula.version} does not draft with extra_buffer_lazy", hint="Take extra_buffer")
    if not extra and radix and drafts:
        raise Sm120kitError(
            f"drafting for {geometry.architecture} with the prefix cache needs the strategy extra_buffer",
            hint="Give extra_buffer, or --disable-radix-cache",
        )

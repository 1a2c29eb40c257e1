"""The settings that a running SGLang works with, and which of them may differ between servers that are set up alike.

Its ``/server_info`` holds what was asked for; the scheduler's own record of it (``internal_states``) holds what became
of that. Names are those of 0.5.12 and 0.5.23.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from sm120kit.diagnosis.launch import Value

OWN = frozenset(
    {
        # where it is reached, and by which ports its parts reach one another
        "host", "port", "nccl_port", "grpc_port", "grpc_http_sidecar_port", "smg_http_sidecar_port", "dist_init_addr",
        "gated_launch_port", "engine_info_bootstrap_port", "disaggregation_bootstrap_port", "encoder_bootstrap_port",
        "remote_instance_weight_loader_seed_instance_service_port",
        "remote_instance_weight_loader_send_weights_group_ports", "forward_pass_metrics_ipc_name",
        "forward_pass_metrics_worker_id", "load_publish_endpoint", "kv_events", "kv_events_config",
        "decoupled_spec_bind_endpoint", "decoupled_spec_connect_endpoints",
        # which hardware it has
        "base_gpu_id", "numa_node", "mooncake_ib_device", "disaggregation_ib_device",
        # drawn at random unless it is given
        "random_seed",
        # what it measured
        "last_gen_throughput", "memory_usage", "startup_time", "avg_spec_accept_length", "step_time_dict",
        "decode_cuda_graph_memory_gb", "dspark_info_record", "rust_mm_transport", "rust_server_startup_time",
        # its command and environment, which hold all of the above once more, and secrets
        "launch_command", "env_vars", "api_key", "admin_api_key", "ssl_keyfile_password",
        # what it is at
        "status", "internal_states", "scale_phase", "elastic_ep_last_error",
    }
)  # fmt: skip
"""What servers that are set up alike need not have in common."""

MEASURED = frozenset(
    {
        "max_total_num_tokens", "max_req_input_len", "effective_max_running_requests_per_dp", "max_mamba_cache_size",
        "pp_max_micro_batch_size", "max_total_tokens",
    }
)  # fmt: skip
"""What follows from the memory that was free when it started: nearly the same on GPUs that are alike."""

MEASURED_DIFFERENCE = 0.02
"""Share by which those may differ. Free memory of like cards differs by some hundred MiB of 90 GiB; twice that is let
pass, and a slot more or less."""

ADAPTED = frozenset(
    {
        "attention_backend", "prefill_attention_backend", "decode_attention_backend", "sampling_backend",
        "grammar_backend", "page_size", "chunked_prefill_size", "max_prefill_tokens", "disable_overlap_schedule",
        "disable_radix_cache", "disable_cuda_graph", "disable_piecewise_cuda_graph", "cuda_graph_max_bs",
        "cuda_graph_bs", "cuda_graph_max_bs_decode", "cuda_graph_bs_decode", "cuda_graph_max_bs_prefill",
        "cuda_graph_bs_prefill", "cuda_graph_backend_decode", "cuda_graph_backend_prefill", "cuda_graph_config",
        "disable_custom_all_reduce", "disable_shared_experts_fusion", "disable_hybrid_swa_memory",
        "disable_chunked_prefix_cache", "dtype", "quantization", "ep_size", "enable_dp_attention", "enable_dp_lm_head",
        "enable_mixed_chunk", "enable_hierarchical_cache", "hicache_io_backend", "hicache_mem_layout", "load_format",
        "load_balance_method", "moe_a2a_backend", "moe_runner_backend", "moe_dense_tp_size", "deepep_mode",
        "schedule_conservativeness", "swa_full_tokens_ratio", "torch_compile_max_bs", "triton_attention_num_kv_splits",
        "max_mamba_cache_size", "max_total_tokens", "mamba_scheduler_strategy", "mamba_radix_cache_strategy",
        "mamba_ssm_dtype", "linear_attn_decode_backend", "linear_attn_prefill_backend", "linear_attn_verify_backend",
        "nsa_prefill_backend", "nsa_decode_backend", "dsa_prefill_backend", "dsa_decode_backend", "attn_cp_size",
        "attn_dp_size", "dp_size", "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens",
        "speculative_draft_model_path", "speculative_draft_attention_backend", "speculative_moe_runner_backend",
        "speculative_moe_a2a_backend", "speculative_adaptive", "speculative_draft_window_size", "served_model_name",
        "tokenizer_path", "tokenizer_worker_num", "detokenizer_worker_num", "tool_call_parser", "chat_template",
        "skip_server_warmup", "soft_watchdog_timeout", "device", "lora_paths", "lora_target_modules", "enable_lora",
    }
)  # fmt: skip
"""What SGLang changes by itself when model, hardware or another setting call for it, even where it was asked for."""

NOT_KEPT = frozenset({"max_running_requests", "model_path", "config", *OWN})
"""What was asked for and is judged elsewhere, or is no setting of the scheduler."""

_SAME = {"nextn": "eagle", "bf16": "bfloat16", "fp16": "float16", "half": "float16", "nsa": "dsa", "fp32": "float32"}
"""Words for the same thing."""


Became = Literal["as asked", "adapted", "another"]


def effective_settings(answer: object) -> dict[str, object]:
    """Setting → value from the answer of ``/server_info``: the scheduler's where it tells, else as asked for."""
    if not isinstance(answer, Mapping):
        return {}
    states = answer.get("internal_states")
    state = states[0] if isinstance(states, list) and states and isinstance(states[0], Mapping) else {}
    return {str(name): value for name, value in {**answer, **state}.items() if name != "internal_states"}


def comparable(settings: Mapping[str, object]) -> dict[str, str]:
    """What servers that are set up alike have in common, as JSON, by its path (``cuda_graph_config.decode.max_bs``)."""
    flat: dict[str, str] = {}
    for name, value in settings.items():
        if name not in OWN and not name.startswith("_"):
            flat.update(_flat(name, value))
    return flat


def _flat(path: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _flat(f"{path}.{name}", inner)
    else:
        yield path, msgspec.json.encode(value).decode()


def same_setting(name: str, one: str, other: str) -> bool:
    """Whether two servers that are set up alike could have these two values, given as JSON."""
    if one == other:
        return True
    if name not in MEASURED:
        return False
    a, b = _number(one), _number(other)
    return a is not None and b is not None and abs(a - b) <= max(1.0, MEASURED_DIFFERENCE * max(abs(a), abs(b)))


def larger_measure(name: str, one: str, other: str) -> str | None:
    """Of two measures, that of the server which has more room: the other one lacks it. ``None`` where they are none."""
    a, b = _number(one), _number(other)
    if name not in MEASURED or a is None or b is None:
        return None
    return one if a > b else other


def took_effect(name: str, asked: Value, settings: Mapping[str, Any]) -> Became | None:
    """What became of a setting that was asked for; ``None`` where SGLang was left to choose, or does not tell."""
    if name in NOT_KEPT or name not in settings or asked is None or asked == "auto" or asked == -1:
        return None
    if _plain(asked) == _plain(settings[name]):
        return "as asked"
    return "adapted" if name in ADAPTED else "another"


def _plain(value: object) -> object:
    """A value as it can be compared: lists by their items as text, numbers by size, words without case."""
    if isinstance(value, list | tuple):
        return [_plain(str(each)) for each in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Mapping):
        return msgspec.json.encode(value, order="deterministic").decode()
    text = str(value)
    if text[:1] in ("{", "["):
        try:
            return _plain(msgspec.json.decode(text))
        except msgspec.DecodeError:
            return text
    return _SAME.get(text.lower(), text.lower())


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

"""Runs inside an environment of :mod:`tests.engine.venvs`: SGLang's own memory functions, called with given numbers.

Reads a JSON list of questions from standard input and writes a JSON list of answers. What SGLang would ask a GPU, a
process group or its own command line is answered with the numbers of the question; everything that computes is genuine.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

os.environ["SGLANG_USE_CPU_ENGINE"] = "1"

Question = dict[str, Any]


def main() -> None:
    import importlib.metadata

    version = importlib.metadata.version("sglang")
    pools = pools_of_0_5_23 if version == "0.5.23" else pools_of_0_5_12
    defaults = defaults_of_0_5_23 if version == "0.5.23" else defaults_of_0_5_12
    steps: dict[str, Callable[[Question], Any]] = {"pools": pools, "defaults": defaults, "state": state_bytes}
    json.dump([steps[each["what"]](each) for each in json.load(sys.stdin)], sys.stdout)


def state_bytes(question: Question) -> int:
    """Bytes of one state by the configuration classes of Qwen3-Next and Qwen3.5."""
    import torch
    from sglang.srt.configs import qwen3_5, qwen3_next
    from sglang.srt.layers import dp_attention

    for module in (qwen3_5, qwen3_next, dp_attention):
        module.get_attention_tp_size = lambda: question["tp"]
        module._is_cpu = False
    _parallel(question["tp"])
    if question["dtype"]:
        os.environ["SGLANG_MAMBA_SSM_DTYPE"] = question["dtype"]
    else:
        os.environ.pop("SGLANG_MAMBA_SSM_DTYPE", None)
    kind = qwen3_5.Qwen3_5TextConfig if question["model"] == "qwen3_5" else qwen3_next.Qwen3NextConfig
    config = kind(**question["config"], dtype=torch.bfloat16)
    return int(config.mamba2_cache_params.mamba_cache_per_req)


def _parallel(tp: int) -> None:
    """Newer versions ask a context for the number of GPUs."""
    try:
        import sglang.srt.runtime_context  # noqa: F401 - so that it stands among the modules below
    except ImportError:
        return
    parallel = SimpleNamespace(attn_tp_size=tp, attn_dcp_size=1, launch_world_size=1, pp_size=1, world_group=_group(),
                               enable_cp_tp_group_sharing=False, enable_dsa_cache_layer_split=False)  # fmt: skip
    for module in list(sys.modules.values()):
        if getattr(module, "get_parallel", None) is not None and module.__name__.startswith("sglang"):
            module.__dict__["get_parallel"] = lambda: parallel


def _group() -> SimpleNamespace:
    return SimpleNamespace(world_size=1, cpu_group=None)


def _model(question: Question) -> SimpleNamespace:
    """As much of a ModelConfig as the functions look at."""
    import torch

    text = SimpleNamespace(num_hidden_layers=question["layers"] + question["sliding_layers"])
    return SimpleNamespace(
        context_len=question["context"],
        hf_config=SimpleNamespace(architectures=["Any"], model_type="any"),
        hf_text_config=text,
        head_dim=question["head_dim"],
        v_head_dim=question["v_head_dim"],
        swa_head_dim=question["head_dim"],
        swa_v_head_dim=question["v_head_dim"],
        kv_lora_rank=question["latent"] - 64,
        qk_rope_head_dim=64,
        full_attention_layer_ids=list(range(question["layers"])),
        swa_attention_layer_ids=list(range(question["sliding_layers"])),
        get_num_kv_heads=lambda tp, _dcp=1: max(1, question["kv_heads"] // tp),
        get_swa_num_kv_heads=lambda tp: max(1, question["kv_heads"] // tp),
        is_multimodal=question["multimodal"],
        num_hidden_layers=question["layers"],
        quantization=None,
        dtype=torch.bfloat16,
        attention_arch=None,
    )


def _states(question: Question) -> SimpleNamespace | None:
    if not question["state"]:
        return None
    params = SimpleNamespace(mamba_cache_per_req=question["state"], layers=[0])
    return SimpleNamespace(mamba2_cache_params=params, full_attention_layer_ids=list(range(question["layers"])))


def _answer(config: Any, slots: int | None) -> dict[str, int]:
    return {
        "granted": int(config.max_running_requests),
        "tokens": int(config.max_total_num_tokens),
        "slots": int(slots or 0),
        "sliding": int(config.swa_max_total_num_tokens or 0),
    }


def _or_failure(compute: Callable[[], dict[str, int]]) -> dict[str, int] | None:
    """``None`` where SGLang refuses to start."""
    try:
        answer = compute()
    except (RuntimeError, ValueError, AssertionError):
        return None
    return answer if answer["granted"] > 0 else None


def pools_of_0_5_12(question: Question) -> dict[str, int] | None:
    import torch
    from sglang.srt.model_executor import model_runner_kv_cache_mixin as mixin
    from sglang.srt.model_executor import pool_configurator

    mixin.get_available_gpu_memory = lambda *_args, **_named: question["after"]
    mixin.get_world_group = _group
    pool_configurator.get_attention_tp_size = lambda: question["tp"]
    drafting = question["draft_tokens"] > 0
    args = SimpleNamespace(
        max_running_requests=question["requested"],
        speculative_num_draft_tokens=question["draft_tokens"] or None,
        max_mamba_cache_size=question["slots"],
        disable_radix_cache=not question["radix"],
        mamba_full_memory_ratio=question["share"],
        disable_overlap_schedule=not question["overlap"],
        enable_mamba_extra_buffer=lambda: question["strategy"] == "extra_buffer",
        enable_dp_attention=False,
        dp_size=1,
        max_total_tokens=question["most_tokens"],
        page_size=question["page"],
        mem_fraction_static=question["fraction"],
        swa_full_tokens_ratio=question["sliding_share"],
        speculative_algorithm="EAGLE" if drafting else None,
    )

    class Runner(mixin.ModelRunnerKVCacheMixin):  # type: ignore[misc]  # its base is untyped
        """The runner's own methods on these attributes."""

    runner = Runner()
    runner.__dict__.update(
        device="cuda",
        gpu_id=0,
        mem_fraction_static=question["fraction"],
        mambaish_config=_states(question),
        server_args=args,
        spec_algorithm=SimpleNamespace(is_none=lambda: not drafting, is_dflash=lambda: False),
        dp_size=1,
        pp_size=1,
        model_config=_model(question),
        kv_cache_dtype=getattr(torch, question["kv_dtype"]),
        use_mla_backend=question["latent"] > 0,
        is_hybrid_swa=question["sliding_layers"] > 0,
        is_draft_worker=False,
        start_layer=0,
        end_layer=10_000,
        num_effective_layers=question["layers"],
    )
    return _or_failure(
        lambda: _answer(runner._resolve_memory_pool_config(question["before"]), args.max_mamba_cache_size)
    )


def pools_of_0_5_23(question: Question) -> dict[str, int] | None:
    import torch
    from sglang.srt.mem_cache import kv_cache_configurator as configurator
    from sglang.srt.model_executor import pool_configurator

    drafting = question["draft_tokens"] > 0
    graphs = SimpleNamespace(prefill=SimpleNamespace(full_prefill_max_req=None, backend=None))
    schedule = SimpleNamespace(
        max_running_requests=question["requested"],
        max_mamba_cache_size=question["slots"],
        mamba_full_memory_ratio=question["share"],
        disable_overlap_schedule=not question["overlap"],
        max_total_tokens=question["most_tokens"],
        page_size=question["page"],
        mem_fraction_static=question["fraction"],
        swa_full_tokens_ratio=question["sliding_share"],
        chunked_prefill_size=question["chunk"],
        prefill_max_requests=None,
    )
    extra = question["strategy"] != "no_buffer"
    mamba = SimpleNamespace(
        enable_mamba_extra_buffer=extra,
        enable_mamba_extra_buffer_lazy=question["strategy"] == "extra_buffer_lazy",
        enable_linear_replayssm_spec=False,
    )
    spec = SimpleNamespace(
        speculative_num_draft_tokens=question["draft_tokens"] or None,
        speculative_algorithm="EAGLE" if drafting else None,
    )
    context = SimpleNamespace(override=lambda _name, **changed: schedule.__dict__.update(changed))
    answers = {
        "get_schedule": schedule,
        "get_exec": SimpleNamespace(mamba=mamba, graph=SimpleNamespace(cuda_graph_config=graphs)),
        "get_memory": SimpleNamespace(disable_radix_cache=not question["radix"], enable_unified_memory=False,
                                      enable_hisparse=False),
        "get_disagg": SimpleNamespace(disaggregation_mode="null"),
        "get_mm": SimpleNamespace(mm_feature_transport=None),
        "get_spec": spec,
        "get_context": context,
    }  # fmt: skip
    for name, answer in answers.items():
        for module in (configurator, pool_configurator):
            setattr(module, name, lambda answer=answer: answer)
    configurator.gc = SimpleNamespace(collect=lambda: 0)  # half a second each time, of no effect on numbers
    configurator.get_available_gpu_memory = lambda *_args, **_named: question["after"]
    _parallel(question["tp"])
    states = _states(question)
    pool_configurator.mambaish_config = lambda _model: states
    pool_configurator.compute_page_shard_scratch_bytes = lambda *_args, **_named: 0
    pool_configurator.DefaultPoolConfigurator._compute_qsa_cell_size = staticmethod(lambda **_named: 0)

    class Sizes(configurator.KVCacheConfigurator):  # type: ignore[misc]  # its base is untyped
        """The configurator's own methods on these attributes."""

        def __init__(self) -> None:
            pass

    found = Sizes()
    model = _model(question)
    model.attention_arch = pool_configurator.AttentionArch.MLA if question["latent"] else None
    attributes = {
        "device": "cuda",
        "gpu_id": 0,
        "model_config": model,
        "mambaish_config": states,
        "hybrid_gdn_config": states,
        "hybrid_kda_config": None,
        "extra_mamba_cache_bytes_per_req": 0,
        "post_capture_kv_active": False,
        "pp_size": 1,
        "attn_dp_size": 1,
        "is_draft_worker": False,
        "is_hybrid_swa": question["sliding_layers"] > 0,
        "sliding_window_size": question["window"] or None,
        "page_size": question["page"],
        "kv_cache_dtype": getattr(torch, question["kv_dtype"]),
        "kv_cache_dtype_str": "auto",
        "use_mla_backend": question["latent"] > 0,
        "layer_info": SimpleNamespace(
            start_layer=0,
            end_layer=10_000,
            num_effective_layers=question["layers"],
            full_attention_layer_ids=list(range(question["layers"])),
            swa_attention_layer_ids=list(range(question["sliding_layers"])),
        ),
        "server_args": SimpleNamespace(enable_hisparse=False),
        "spec_algorithm": SimpleNamespace(
            is_none=lambda: not drafting,
            is_eagle=lambda: drafting,
            is_standalone=lambda: False,
            is_dflash_family=lambda: False,
        ),
        "spec_aux_config": SimpleNamespace(
            eagle_draft_num_layers=question["draft_layers"] or None,
            eagle_draft_swa_num_layers=None,
            draft_kv_num_layers=None,
            draft_model_config=None,
        ),
    }
    for name, value in attributes.items():
        setattr(found, name, value)
    return _or_failure(
        lambda: _answer(found._resolve_memory_pool_config(question["before"]), schedule.max_mamba_cache_size)
    )


def _vision(question: Question) -> SimpleNamespace | None:
    if not question["vision"]:
        return None
    layers, hidden = question["vision"]
    return SimpleNamespace(num_hidden_layers=layers, hidden_size=hidden)


def defaults_of_0_5_12(question: Question) -> dict[str, Any]:
    from sglang.srt.server_args import ServerArgs

    args = ServerArgs.__new__(ServerArgs)
    config = SimpleNamespace(
        is_multimodal=question["vision"] is not None, hf_config=SimpleNamespace(vision_config=_vision(question))
    )
    args.__dict__.update(
        device="cuda",
        chunked_prefill_size=question["chunk"],
        cuda_graph_max_bs=question["graph"],
        cuda_graph_bs=None,
        tp_size=question["tp"],
        pp_size=1,
        max_total_tokens=None,
        model_path="/model",
        max_prefill_tokens=16384,
        mem_fraction_static=None,
        enable_dp_attention=False,
        piecewise_cuda_graph_max_tokens=None,
        piecewise_cuda_graph_tokens=None,
        disable_piecewise_cuda_graph=question["no_prefill_graph"],
        speculative_algorithm=question["algorithm"],
        disable_cuda_graph_padding=False,
        language_only=False,
        enable_symm_mem=False,
        get_model_config=lambda: config,
        use_mla_backend=lambda: question["latent"],
    )
    args._handle_gpu_memory_settings(question["mib"])
    return {
        "fraction": args.mem_fraction_static,
        "chunk": args.chunked_prefill_size,
        "graph": args.cuda_graph_max_bs,
        "prefill_graphs": 0 if question["no_prefill_graph"] else len(args.piecewise_cuda_graph_tokens),
    }


def defaults_of_0_5_23(question: Question) -> dict[str, Any]:
    from sglang.srt.arg_groups import cuda_graph_hook, memory_hook
    from sglang.srt.arg_groups.model_overrides import qwen3_vl

    off, on = memory_hook.Backend.DISABLED, memory_hook.Backend.FULL
    config = SimpleNamespace(
        is_multimodal=question["vision"] is not None, hf_config=SimpleNamespace(vision_config=_vision(question))
    )
    args = SimpleNamespace(
        device="cuda",
        chunked_prefill_size=question["chunk"],
        max_running_requests=question["requested"],
        tp_size=question["tp"],
        pp_size=1,
        max_total_tokens=None,
        model_path="/model",
        max_prefill_tokens=16384,
        mem_fraction_static=None,
        speculative_algorithm=question["algorithm"],
        speculative_num_draft_tokens=None,
        disable_cuda_graph_padding=False,
        language_only=False,
        language_model_only=False,
        disaggregation_mode="null",
        enable_symm_mem=False,
        moe_a2a_backend="none",
        attn_dp_size=1,
        _cuda_graph_config_locked=set(),
        cuda_graph_config=SimpleNamespace(
            decode=SimpleNamespace(max_bs=question["graph"], bs=None, backend=off if question["no_graphs"] else on),
            prefill=SimpleNamespace(max_bs=None, bs=None, backend=off if question["no_prefill_graph"] else on),
        ),
    )
    for module in (memory_hook, cuda_graph_hook, qwen3_vl):
        module.resolving_view = lambda given: given
        module.resolved_view = lambda given: given
    memory_hook.declare_resolution = lambda given, _name, **changed: given.__dict__.update(changed)
    memory_hook.get_device_memory_capacity = lambda _device: question["mib"]
    memory_hook.model_config_of = lambda _given: config
    memory_hook.use_mla_backend = lambda _given: question["latent"]
    memory_hook.post_capture_kv_sizing_planned = lambda _given: False
    memory_hook.attn_dp_enabled_of = lambda _given: False
    memory_hook.get_platform = lambda: SimpleNamespace(is_xpu=False)
    qwen3_vl.large_hopper_qwen3_vl_model_type = lambda *_given: None
    memory_hook.handle_gpu_memory_settings(args)
    graphs = args.cuda_graph_config
    return {
        "fraction": args.mem_fraction_static,
        "chunk": args.chunked_prefill_size,
        "graph": graphs.decode.max_bs,
        "prefill_graphs": 0 if question["no_prefill_graph"] else len(graphs.prefill.bs),
    }


if __name__ == "__main__":
    main()

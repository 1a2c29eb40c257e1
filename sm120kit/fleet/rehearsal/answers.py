"""Answers of a stand-in that tell what it is and how it is: built as SGLang builds them, and with ``rehearsal`` in
each that could be taken for a server's own."""

from __future__ import annotations

import time
from typing import Any

from sm120kit.fleet.rehearsal.profile import Profile

_GIB = 1 << 30
_DEPTH = 6
"""SGLang keeps so many tokens of the context for itself."""

_NOT_ITS_OWN = "custom_sigquit_handler"
"""What 0.5.23's schedulers do not tell."""

_GRAPH_PHASES = ("prefill", "decode", "target_verify", "draft_prefill", "draft_decode", "draft_extend")


class Answers:
    """One server's."""

    def __init__(self, profile: Profile, settings: dict[str, Any], words: list[str]) -> None:
        self.profile, self.settings = profile, settings
        self.new = profile.wording == "0.5.23"
        self.command = " ".join(words)
        self.created = int(time.time())

    @property
    def served(self) -> str:
        """The model's name."""
        return str(self.settings.get("served_model_name") or self.settings["model_path"])

    def model_info(self) -> dict[str, Any]:
        """``/model_info``."""
        settings = self.settings
        found: dict[str, Any] = {
            "model_path": settings["model_path"],
            "tokenizer_path": settings.get("tokenizer_path"),
            "is_generation": True,
            "preferred_sampling_params": settings.get("preferred_sampling_params"),
            "weight_version": settings.get("weight_version") or "default",
            "has_image_understanding": False,
            "has_audio_understanding": False,
            "model_type": "rehearsal",
            "architectures": [self.profile.architecture],
            "rehearsal": True,
        }
        if self.new:
            names = ("load_format", "reasoning_parser", "tool_call_parser", "disaggregation_mode")
            found |= {"served_model_name": self.served, **{name: settings.get(name) for name in names}}
            found["embedding"] = self.profile.embedding
        return found

    def models(self) -> dict[str, Any]:
        """``/v1/models``."""
        card = {
            "id": self.served,
            "object": "model",
            "created": self.created,
            "owned_by": "sglang",
            "root": self.served,
            "parent": None,
            "max_model_len": self.profile.context,
            "rehearsal": True,
        }
        return {"object": "list", "data": [card]}

    def server_info(self, state: dict[str, Any]) -> dict[str, Any]:
        """``/server_info``, with what the scheduler answered."""
        info = {
            **self.settings,
            "status": "ready",
            "max_total_num_tokens": self.profile.tokens,
            "max_req_input_len": self.profile.context - _DEPTH,
            "internal_states": [self.internal_state(state)],
            "version": self.profile.version,
            "rehearsal": True,
        }
        if self.new:
            info |= {
                "launch_command": self.command,
                "startup_time": {**self.startup_time(), "tokenizer_e2e": self.profile.load_s},
                "kv_events": None,
                "frontend": "python",
                "hicache_object_layout": {
                    "enabled": False,
                    "backend": None,
                    "page_size": 1,
                    "hicache_object_layout": {"pools": []},
                    "reason": "Hierarchical cache is disabled",
                },
            }
        return info

    def internal_state(self, state: dict[str, Any]) -> dict[str, Any]:
        """``internal_states[0]``: the settings as the scheduler has them, and what they came to."""
        memory: dict[str, Any] = {
            "weight": round(self.profile.weights / _GIB, 3 if self.new else 2),
            "kvcache": round(self.profile.kv_pool / _GIB, 3 if self.new else 2),
            "token_capacity": self.profile.tokens,
        }
        graphs = round(self.profile.graphs / _GIB, 3 if self.new else 2)
        found = {
            **{name: value for name, value in self.settings.items() if not (self.new and name == _NOT_ITS_OWN)},
            "pp_max_micro_batch_size": self.profile.granted,
            "last_gen_throughput": float(state["throughput"]),
            "effective_max_running_requests_per_dp": self.profile.granted,
            "memory_usage": memory,
            "rehearsal": True,
        }
        if not self.new:
            memory["graph"] = graphs or 0  # a whole number where nothing was captured
            return found | {
                "decode_attention_backend": self.settings.get("attention_backend") or "flashinfer",
                "prefill_attention_backend": self.settings.get("attention_backend") or "flashinfer",
                "enable_grpc": False,
                "grpc_port": (self.settings.get("port") or 30000) + 10000,
                "_quantization_explicitly_unset": False,
                "use_mla_backend": False,
                "_mx_config_cache": {},
            }
        memory |= {
            "startup_available": round(self.profile.memory_total / _GIB, 3),
            "token_capacity_swa": None,
            "graph": {phase: graphs if phase == "decode" else 0.0 for phase in _GRAPH_PHASES},
        }
        return found | {
            "world_size": self.settings.get("tp_size") or 1,
            "startup_time": self.startup_time(),
            "disaggregation_decode_retraction_backup": "cpu_tensor",
            "decode_cuda_graph_bs": [],
            "decode_cuda_graph_memory_gb": graphs,
        }

    def startup_time(self) -> dict[str, Any]:
        """Seconds that the phases took."""
        took = self.profile.load_s
        return {
            "load_weight": took * 0.35,
            "kv_cache_allocation": took * 0.05,
            "scheduler_e2e": took * 0.9,
            "cuda_graph": {phase: took * 0.3 if phase == "decode" else 0.0 for phase in _GRAPH_PHASES},
        }

    def loads(self, state: dict[str, Any]) -> dict[str, Any]:
        """``/v1/loads``."""
        tokens, granted = self.profile.tokens, self.profile.granted
        load: dict[str, Any] = {
            "num_running_reqs": state["running"],
            "num_waiting_reqs": state["waiting"],
            "num_used_tokens": state["used"],
            "num_total_tokens": state["used"] + state["pending"],
            "max_total_num_tokens": tokens,
            "token_usage": round(state["used"] / max(1, tokens), 4),
            "gen_throughput": round(state["throughput"], 2),
            "cache_hit_rate": 0.0,
            "utilization": round(state["running"] / granted, 4),
            "max_running_requests": granted,
            "memory": {
                "weight_gb": round(self.profile.weights / _GIB, 2),
                "kv_cache_gb": round(self.profile.kv_pool / _GIB, 2),
                "graph_gb": round(self.profile.graphs / _GIB, 2) or (0.0 if self.new else 0),
                "token_capacity": tokens,
            },
            "disaggregation": {
                "mode": "null",
                "prefill_bootstrap_queue_reqs": 0,
                "prefill_inflight_queue_reqs": 0,
                "decode_prealloc_queue_reqs": 0,
                "decode_transfer_queue_reqs": 0,
                "decode_retracted_queue_reqs": 0,
                "kv_transfer_speed_gb_s": 0.0,
                "kv_transfer_latency_ms": 0.0,
            },
            "queues": {"waiting": state["waiting"], "grammar": 0, "paused": 0, "retracted": 0},
        }
        moment = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        found: dict[str, Any] = {"timestamp": moment, "version": self.profile.version, "loads": [load]}
        if self.new:
            load |= {
                "timestamp": time.time(),
                "dp_rank": 0,
                "num_waiting_uncached_tokens": state["pending"],
                "num_active_tokens": state["used"],
                "num_prealloc_ready_tokens": 0,
                "total_prefill_uncached_tokens": 0,
                "total_prefill_busy_us": 0,
                "decode_moments": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            }
            load["queues"]["prealloc_ready"] = 0
            return found | {"accelerator": None, "num_accelerators": 1, "rehearsal": True}
        load["num_total_reqs"] = state["running"] + state["waiting"]
        whole = {
            "total_running_reqs": state["running"],
            "total_waiting_reqs": state["waiting"],
            "total_reqs": state["running"] + state["waiting"],
            "total_used_tokens": state["used"],
            "total_tokens": state["used"] + state["pending"],
            "avg_token_usage": load["token_usage"],
            "avg_throughput": load["gen_throughput"],
            "avg_utilization": load["utilization"],
        }
        return found | {"dp_rank_count": 1, "aggregate": whole, "rehearsal": True}

    def metrics(self, state: dict[str, Any]) -> str:
        """``/metrics``: those of SGLang's that tell of load and capacity."""
        labels = f'{{engine_type="unified",model_name="{self.served}",rehearsal="true",tp_rank="0"}}'
        values = {
            "num_running_reqs": state["running"],
            "num_used_tokens": state["used"],
            "token_usage": state["used"] / max(1, self.profile.tokens),
            "gen_throughput": state["throughput"],
            "num_queue_reqs": state["waiting"],
            "max_total_num_tokens": self.profile.tokens,
        }
        lines = []
        for name, value in values.items():
            lines += [f"# TYPE sglang:{name} gauge", f"sglang:{name}{labels} {float(value)}"]
        return "\n".join(lines) + "\n"

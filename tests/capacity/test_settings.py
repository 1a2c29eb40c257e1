"""Launch lines: what they come to, and which are refused with a line that says what to write."""

from __future__ import annotations

from typing import Any

import pytest

from sm120kit.capacity.formulas import choose_formula
from sm120kit.capacity.settings import resolve_settings
from sm120kit.engines.sglang import read_launch_line
from sm120kit.errors import Sm120kitError
from tests.models import QWEN3_32B, QWEN3_NEXT_80B
from tests.planning import DRAFTING, NEW_STRATEGY, OLD_STRATEGY, QWEN36_27B, geometry, settings


def test_nothing_given() -> None:
    found = settings(QWEN3_32B, "0.5.12")
    assert (found.requested, found.fraction, found.chunk, found.context) == (None, None, None, 40960)
    assert (found.radix, found.overlap, found.kv_dtype, found.page_size) == (True, True, "bfloat16", 1)


def test_drafting_sets_48_requests_where_none_are_given() -> None:
    found = settings(QWEN36_27B, "0.5.12", OLD_STRATEGY, "extra_buffer", *DRAFTING)
    assert (found.requested, found.given_requests, found.draft_tokens) == (48, None, 4)


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        (("--speculative-algorithm", "EAGLE"), 4),
        (("--speculative-algorithm", "EAGLE", "--speculative-num-steps", "5", "--speculative-eagle-topk", "1"), 6),
        (("--speculative-algorithm", "NGRAM"), 12),
        (
            ("--speculative-algorithm", "EAGLE", "--speculative-num-steps", "3", "--speculative-eagle-topk", "4",
             "--speculative-num-draft-tokens", "16"),
            16,
        ),
    ],
)  # fmt: skip
def test_draft_tokens(words: tuple[str, ...], tokens: int) -> None:
    assert settings(QWEN36_27B, "0.5.12", OLD_STRATEGY, "extra_buffer", *words).draft_tokens == tokens


def test_a_tree_of_candidates_forbids_to_prepare_the_next_step() -> None:
    words = ("--speculative-algorithm", "EAGLE", "--speculative-num-steps", "3", "--speculative-eagle-topk", "4",
             "--speculative-num-draft-tokens", "16")  # fmt: skip
    assert not settings(QWEN36_27B, "0.5.12", OLD_STRATEGY, "extra_buffer", *words).overlap


@pytest.mark.parametrize(
    ("version", "words", "strategy", "overlap"),
    [
        ("0.5.12", (), "no_buffer", False),
        ("0.5.12", (OLD_STRATEGY, "extra_buffer"), "extra_buffer", True),
        ("0.5.12", ("--disable-radix-cache",), "no_buffer", True),
        ("0.5.13.post1", (), "no_buffer", False),
        ("0.5.23", (), "extra_buffer", True),
        ("0.5.23", ("--disable-overlap-schedule",), "no_buffer", False),
        ("0.5.23", (NEW_STRATEGY, "extra_buffer_lazy"), "extra_buffer_lazy", True),
    ],
)
def test_strategies(version: str, words: tuple[str, ...], strategy: str, overlap: bool) -> None:
    found = settings(QWEN36_27B, version, *words)
    assert (found.strategy, found.overlap) == (strategy, overlap)


def test_the_strategy_auto_of_a_model_that_takes_no_snapshots() -> None:
    nemotron = {
        "architectures": ["NemotronHForCausalLM"],
        "model_type": "nemotron_h",
        "hidden_size": 4096,
        "num_hidden_layers": 4,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "hybrid_override_pattern": "M-*M",
        "mamba_num_heads": 128,
        "mamba_head_dim": 64,
        "n_groups": 8,
        "ssm_state_size": 128,
        "conv_kernel": 4,
    }
    assert settings(nemotron, "0.5.12").strategy == "no_buffer"
    with pytest.raises(Sm120kitError, match="does not take the strategy extra_buffer with NemotronH"):
        settings(nemotron, "0.5.12", OLD_STRATEGY, "extra_buffer")


@pytest.mark.parametrize(
    ("version", "words", "said"),
    [
        ("0.5.23", (OLD_STRATEGY, "extra_buffer"), "no flag --mamba-scheduler-strategy any more"),
        ("0.5.12", (NEW_STRATEGY, "extra_buffer"), "no flag --mamba-radix-cache-strategy yet"),
        ("0.5.12", ("--max-runing-requests", "4"), "no flag --max-runing-requests"),
        ("0.5.12", (OLD_STRATEGY, "extra_buffer_lazy"), "cannot be 'extra_buffer_lazy'"),
        ("0.5.12", (OLD_STRATEGY, "extra_buffer", "--disable-radix-cache"), "contradict each other"),
        ("0.5.13.post1", (OLD_STRATEGY, "extra_buffer_lazy", "--disable-overlap-schedule"), "contradict each other"),
        ("0.5.13.post1", (OLD_STRATEGY, "extra_buffer_lazy", *DRAFTING), "does not draft with extra_buffer_lazy"),
        ("0.5.12", DRAFTING, "needs the strategy extra_buffer"),
        ("0.5.12", ("--mem-fraction-static", "85"), "no fraction of memory"),
        ("0.5.12", ("--max-running-requests", "0"), "asks for less than one"),
        ("0.5.12", ("--mamba-full-memory-ratio", "0"), "is not above 0"),
        ("0.5.12", ("--pp-size", "2"), "pipeline parallelism is not modelled"),
        ("0.5.12", ("--dp-size", "2"), "data parallelism inside one server is not modelled"),
        ("0.5.12", ("--enable-dp-attention",), "attention data parallelism is not modelled"),
        ("0.5.12", ("--disaggregation-mode", "decode"), "disaggregated serving is not modelled"),
        ("0.5.23", ("--enable-unified-memory",), "unified memory pool is not modelled"),
        ("0.5.12", ("--config", "server.yaml"), "plan does not read it"),
        ("0.5.12", ("--speculative-algorithm", "DFLASH"), "the memory of its draft is not modelled"),
        ("0.5.12", (OLD_STRATEGY, "extra_buffer", "--speculative-algorithm", "EAGLE", "--speculative-num-steps", "3"),
         "without --speculative-num-draft-tokens"),
    ],
)  # fmt: skip
def test_a_line_that_contradicts_itself_or_its_version_is_refused(
    version: str, words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(Sm120kitError, match=said):
        settings(QWEN36_27B, version, *words)


def _assumptions(config: dict[str, Any], *words: str) -> str:
    formula = choose_formula("0.5.12").formula
    return "\n".join(resolve_settings(read_launch_line(words, "0.5.12"), formula, geometry(config)).assumptions)


def test_what_is_assumed_is_listed() -> None:
    assert "2,048 tokens" in _assumptions({**QWEN3_32B, "max_position_embeddings": None})
    longer = ("--context-length", "50000", "--json-model-override-args", "{}")
    assert "is more than the 40,960" in _assumptions(QWEN3_32B, *longer)
    assert "loaded as bfloat16" in _assumptions({**QWEN3_32B, "torch_dtype": "float32"})
    assert "4 draft tokens" in _assumptions(QWEN3_32B, "--speculative-algorithm", "EAGLE")


@pytest.mark.parametrize(
    ("version", "words", "none"),
    [
        ("0.5.12", (), False),
        ("0.5.12", ("--disable-piecewise-cuda-graph",), True),
        ("0.5.12", ("--enforce-piecewise-cuda-graph",), False),
        ("0.5.12", ("--disable-cuda-graph",), False),
        ("0.5.12", ("--enable-lora",), True),
        ("0.5.23", ("--disable-prefill-cuda-graph",), True),
        ("0.5.23", ("--cuda-graph-backend-prefill", "disabled"), True),
        ("0.5.23", ("--disable-cuda-graph",), True),
    ],
)
def test_prefill_graphs(version: str, words: tuple[str, ...], none: bool) -> None:
    assert settings(QWEN3_32B, version, *words).no_prefill_graph is none


def test_sizes_of_graphs() -> None:
    assert settings(QWEN3_32B, "0.5.12", "--cuda-graph-bs", "1", "2", "96").decode_graph == 96
    assert settings(QWEN3_32B, "0.5.12", "--cuda-graph-max-bs", "64").decode_graph == 64
    assert settings(QWEN3_32B, "0.5.23", "--cuda-graph-max-bs-decode", "64").decode_graph == 64


def test_backends_that_page() -> None:
    assert settings(QWEN3_32B, "0.5.12", "--attention-backend", "trtllm_mha").page_size == 64
    # Without snapshots of states every page holds one token.
    assert settings(QWEN3_NEXT_80B, "0.5.12", "--page-size", "16").page_size == 1

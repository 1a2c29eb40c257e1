"""Start-up logs in the wordings of the known versions."""

from __future__ import annotations

import pytest

from sm120kit.engines.sglang.startup_log import lines_of, read_settings, read_startup_log

GIB = 1 << 30
STAMP = "[2026-11-03 09:14:07 TP0] "

# As 0.5.11 and 0.5.12 word it, for the geometry of Qwen3.6-27B on an RTX PRO 6000.
OLD = """
[2026-11-03 09:13:41] server_args=ServerArgs(model_path='/models/qwen', mem_fraction_static=0.85, max_running_requests=64, tp_size=1, kv_cache_dtype='auto', page_size=1, cuda_graph_bs=[1, 2], lora_target_modules=None, quantization_param_path=<Odd object>)
[2026-11-03 09:13:41] server_args=ServerArgs(model_path='/models/qwen', mem_fraction_static=0.85, max_running_requests=64, tp_size=1, kv_cache_dtype='auto', page_size=1, cuda_graph_bs=[1, 2], lora_target_modules=None)
[2026-11-03 09:14:07 TP0] Init torch distributed begin.
[2026-11-03 09:14:07 TP0] Init torch distributed ends. elapsed=0.31 s, mem usage=0.43 GB
[2026-11-03 09:14:07 TP0] Load weight begin. avail mem=94.16 GB
[2026-11-03 09:16:59 TP0] Load weight end. elapsed=171.90 s, type=Qwen3_5ForConditionalGeneration, avail mem=43.21 GB, mem usage=50.95 GB.
[2026-11-03 09:16:59 TP0] Using KV cache dtype: torch.bfloat16
[2026-11-03 09:16:59 TP0] Mamba Cache is allocated. max_mamba_cache_size: 188, conv_state size: 0.52GB, ssm_state size: 13.29GB
[2026-11-03 09:17:00 TP0] KV Cache is allocated. #tokens: 251509, K size: 7.68 GB, V size: 7.68 GB
[2026-11-03 09:17:00 TP0] Memory pool end. avail mem=13.92 GB
[2026-11-03 09:17:01 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=13.90 GB
[2026-11-03 09:17:01 TP0] Capture cuda graph bs [1, 2, 4, 8]
[2026-11-03 09:17:30 TP0] Capture cuda graph end. Time elapsed: 29.11 s. mem usage=0.47 GB. avail mem=13.43 GB.
[2026-11-03 09:17:31 TP0] max_total_num_tokens=251509, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=37, context_len=262144, available_gpu_mem=13.43 GB
[2026-11-03 09:17:35] The server is fired up and ready to roll!
"""  # noqa: E501 - lines of a log

NEW = """
\x1b[1;33m[2026-11-03 09:13:41] deprecated\x1b[0m
[2026-11-03 09:13:41] server_args={'model_path': '/models/qwen', 'mem_fraction_static': 0.8, 'max_running_requests': None, 'tp_size': 1}
[2026-11-03 09:14:07] Init parallel begin.
[2026-11-03 09:14:07] Memory baseline taken. mem usage=0.43 GB
[2026-11-03 09:14:07] Load weight begin. avail mem=94.16 GB
[2026-11-03 09:14:59] Load weight end. elapsed=51.90 s, type=Qwen3ForCausalLM, avail mem=33.14 GB, mem usage=61.02 GB.
[2026-11-03 09:15:00] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 88883, K size: 10.85 GB, V size: 10.85 GB
[2026-11-03 09:15:00] Memory pool end. avail mem=11.32 GB
[2026-11-03 09:15:01] Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, avail mem=11.30 GB
[2026-11-03 09:15:11] Capture target decode CUDA graph end. bs=[1, 2, 4], elapsed=10.11 s, mem usage=0.31 GB, avail mem=10.99 GB.
[2026-11-03 09:15:12] Capture target prefill CUDA graph begin. backend=breakable, num_tokens=[4, 8], avail mem=10.99 GB
[2026-11-03 09:15:22] Capture target prefill CUDA graph end. elapsed=10.02 s, mem usage=0.20 GB, avail mem=10.79 GB.
[2026-11-03 09:15:22] max_running_requests was reduced from the requested 90000 to 44441 (per dp worker) due to the available KV cache capacity.
[2026-11-03 09:15:22] max_total_num_tokens=88883, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=44441, context_len=40960, available_gpu_mem=10.79 GB
"""  # noqa: E501 - lines of a log

LATENT = f"{STAMP}KV Cache is allocated. #tokens: 880116, KV size: 57.60 GB"


def test_the_wordings_of_0_5_12() -> None:
    seen = read_startup_log(OLD.splitlines(), "server.log")
    assert (seen.granted, seen.tokens, seen.state_slots, seen.context) == (37, 251_509, 188, 262_144)
    assert (seen.free_before, seen.free_after) == (round(94.16 * GIB), round(43.21 * GIB))
    assert (seen.weights, seen.state_pool) == (round(50.95 * GIB), round(13.81 * GIB))
    assert (seen.kv_pool, seen.graphs) == (round(15.36 * GIB), round(0.47 * GIB))
    assert seen.settings["mem_fraction_static"] == 0.85
    assert seen.settings["cuda_graph_bs"] == ("1", "2")
    assert seen.not_understood == ()


def test_the_wordings_of_0_5_23() -> None:
    seen = read_startup_log(NEW.splitlines(), "server.log")
    assert (seen.granted, seen.tokens, seen.graphs) == (44_441, 88_883, round(0.51 * GIB))
    assert seen.settings == {"model_path": "/models/qwen", "mem_fraction_static": 0.8, "tp_size": 1}
    assert seen.complaints == (
        "max_running_requests was reduced from the requested 90000 to 44441 (per dp worker) due to the available KV "
        "cache capacity.",
    )
    assert seen.not_understood == ()


def test_a_latent_pool() -> None:
    seen = read_startup_log([LATENT], "server.log")
    assert (seen.tokens, seen.kv_pool) == (880_116, round(57.6 * GIB))


def test_a_draft_model_does_not_take_the_place_of_the_one_that_serves() -> None:
    draft = [
        f"{STAMP}Load weight end. elapsed=1.1 s, type=Qwen3_5ForCausalLMMTP, avail mem=12.00 GB, mem usage=0.85 GB.",
        f"{STAMP}KV Cache is allocated. #tokens: 251509, K size: 0.48 GB, V size: 0.48 GB",
    ]
    seen = read_startup_log([*OLD.splitlines(), *draft], "server.log")
    assert (seen.weights, seen.kv_pool) == (round(50.95 * GIB), round(15.36 * GIB))


@pytest.mark.parametrize(
    "line",
    [
        "KV Cache VA upper bound allocated. #tokens: 12",
        "Load weight finished after 3 s",
        "max_total_num_tokens=12, something_new=3",
        "Memory pool end, free 3 GB",
    ],
)
def test_a_line_that_looks_like_a_phase_and_is_none_is_named(line: str) -> None:
    assert read_startup_log([STAMP + line], "server.log").not_understood == (line,)


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: "
        "mem_fraction_static=0.5",
        "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.01.",
        "AssertionError: max_running_request is zero",
        "Exception: Capture cuda graph failed: CUDA out of memory",
    ],
)
def test_why_it_did_not_start(line: str) -> None:
    assert read_startup_log(["Traceback (most recent call last):", line], "server.log").failure == line


@pytest.mark.parametrize(
    "text",
    ["ServerArgs(", "{'a': ", "open('x').read()" * 3, "[1, 2]", "ServerArgs(" + "(" * 500, "\x00", "{1: 2, **x}"],
)
def test_a_record_that_cannot_be_read_gives_nothing(text: str) -> None:
    assert read_settings(text) == {}


def test_values_that_are_no_plain_data_are_left_out() -> None:
    assert read_settings("ServerArgs(a=1, b=object(), c=-2, d=None, e=('x', 3))") == {"a": 1, "c": -2, "e": ("x", "3")}


def test_lines_come_whole_from_pieces_of_any_size() -> None:
    data = OLD.encode()
    for size in (1, 7, 100_000):
        pieces = [data[start : start + size] for start in range(0, len(data), size)]
        assert list(lines_of(pieces)) == OLD.rstrip("\n").split("\n")


def test_a_line_without_end_is_cut() -> None:
    found = list(lines_of([b"x" * (1 << 20)] * 3))
    assert [len(line) <= 1 << 20 for line in found] == [True] * len(found)


def test_numbers_written_into_each_other_are_named() -> None:
    seen = read_startup_log(["Load weight begin. avail mem=9.4.1 GB"], "server.log")
    assert (seen.free_before, seen.not_understood) == (None, ("free_before: 9.4.1",))


@pytest.mark.parametrize("number", ["9.4.1", "9" * 400])
def test_a_number_without_end_is_named(number: str) -> None:
    line = f"KV Cache is allocated. #tokens: 5, K size: {number} GB, V size: 1.5 GB"
    assert read_startup_log([line], "server.log").not_understood == (line,)
    line = f"Load weight begin. avail mem={number} GB"
    assert read_startup_log([line], "server.log").not_understood

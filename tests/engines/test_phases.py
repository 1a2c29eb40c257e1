"""What a server is at, by the lines that genuine servers wrote, and by those that only GPUs make them write."""

from __future__ import annotations

import pytest

from sm120kit.engines.sglang.phases import is_progress, is_ready, phase_of

TIME = "[2026-11-29 15:28:02] "

START_0512 = """\
/opt/venv/gguf.py:64: UserWarning: Only CUDA, MUSA and NPU support GGUF quantization currently.
[2026-11-29 15:26:46] server_args=ServerArgs(model_path='/models/tiny-qwen3', tokenizer_path='/models/tiny-qwen3')
[2026-11-29 15:28:00] Init torch distributed begin.
[2026-11-29 15:28:00] Init torch distributed ends. elapsed=0.06 s, mem usage=0.00 GB
[2026-11-29 15:28:02] Load weight begin. avail mem=19.90 GB
[2026-11-29 15:28:02] Load weight end. elapsed=0.05 s, type=Qwen3ForCausalLM, avail mem=19.90 GB, mem usage=0.00 GB.
[2026-11-29 15:28:02] Using KV cache dtype: torch.bfloat16
[2026-11-29 15:28:02] KV Cache is allocated. #tokens: 8192, K size: 0.00 GB, V size: 0.00 GB
[2026-11-29 15:28:02] Memory pool end. avail mem=19.88 GB
[2026-11-29 15:28:02] max_total_num_tokens=8192, chunked_prefill_size=2048, max_prefill_tokens=16384, \
max_running_requests=2048, context_len=2048, available_cpu_mem=19.88 GB
[2026-11-29 15:28:02] INFO:     Started server process [14329]
[2026-11-29 15:28:02] INFO:     Uvicorn running on http://127.0.0.1:31040 (Press CTRL+C to quit)
[2026-11-29 15:28:03] INFO:     127.0.0.1:42164 - "GET /model_info HTTP/1.1" 200 OK
[2026-11-29 15:28:05] Prefill batch, #new-seq: 1, #new-token: 29, #cached-token: 0, token usage: 0.00, #running-req: 0
[2026-11-29 15:28:05] The server is fired up and ready to roll!
"""

START_0523 = """\
[2026-11-29 15:13:57] \x1b[1;33m'--disable-cuda-graph' is deprecated and will be removed in a future release.\x1b[0m
[2026-11-29 15:14:09] server_args={'model_path': '/models/tiny-qwen3', 'tokenizer_path': '/models/tiny-qwen3'}
[2026-11-29 15:14:57] Init parallel begin.
[2026-11-29 15:14:57] Init parallel ends. elapsed=0.05 s
[2026-11-29 15:14:57] Memory baseline taken. mem usage=0.00 GB
[2026-11-29 15:15:01] Load weight begin. avail mem=21.43 GB
[2026-11-29 15:15:01] Load weight end. elapsed=0.10 s, type=Qwen3ForCausalLM, avail mem=21.43 GB, mem usage=0.00 GB.
[2026-11-29 15:15:02] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 8192, K size: 0.00 GB, V size: 0.00 GB
[2026-11-29 15:15:02] Memory pool end. avail mem=21.48 GB
[2026-11-29 15:15:02] max_total_num_tokens=8192, chunked_prefill_size=4096, max_prefill_tokens=16384, \
max_running_requests=2048, context_len=2048, available_cpu_mem=21.48 GB
[2026-11-29 15:15:02] INFO:     Started server process [6672]
[2026-11-29 15:15:03] INFO:     Uvicorn running on http://127.0.0.1:31000 (Press CTRL+C to quit)
[2026-11-29 15:15:05] The server is fired up and ready to roll!
"""


def _started(before: str, after: str) -> list[str]:
    return [
        "starting",
        "joining its ranks",
        f"loading weights, {before} GiB free",
        "weights loaded, they take 0.00 GiB",
        "allocating the KV cache, 8192 tokens",
        f"pools allocated, {after} GiB free",
        "loaded, 2048 requests and 8192 tokens granted",
        "opening its port",
        "warming up",
        "ready",
    ]


@pytest.mark.parametrize(
    ("log", "expected"),
    [(START_0512, _started("19.90", "19.88")), (START_0523, _started("21.43", "21.48"))],
    ids=["0.5.12", "0.5.23"],
)
def test_a_whole_start(log: str, expected: list[str]) -> None:
    assert [phase for line in log.splitlines() if (phase := phase_of(line))] == expected


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        ("Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:01<00:01,  1.33it/s]",
         "loading weights, 2 of 4 shards"),
        ("\rMulti-thread loading shards:  25% Completed | 1/4 [00:01<00:03,  1.0s/it]\r"
         "Multi-thread loading shards:  75% Completed | 3/4 [00:03<00:01,  1.0s/it]", "loading weights, 3 of 4 shards"),
        ("Loading pt checkpoint shards:   0% Completed | 0/2 [00:00<?, ?it/s]", "loading weights, 0 of 2 shards"),
        (f"{TIME}Load weight end. elapsed=31.20 s, type=Qwen3_5ForConditionalGeneration, quant=fp8, avail mem=43.21 GB"
         ", mem usage=50.95 GB.", "weights loaded, they take 50.95 GiB"),
        ("[2026-11-29 15:28:02 TP3] Mamba Cache is allocated. max_mamba_cache_size: 80, conv_state size: 0.22GB, "
         "ssm_state size: 11.39GB ", "allocating the state cache, 80 slots"),
        (f"{TIME}KV Cache is allocated. #tokens: 250771, KV size: 15.30 GB", "allocating the KV cache, 250771 tokens"),
        (f"{TIME}draft KV Cache is allocated. dtype: torch.bfloat16, #tokens: 99, K size: 0.10 GB, V size: 0.10 GB",
         "allocating the KV cache, 99 tokens"),
        (f"{TIME}KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 12, K size: 0.1 GB, V size: 0.1 GB",
         "allocating the KV cache, 12 tokens"),
        (f"{TIME}Capture cuda graph begin. This can take up to several minutes. avail mem=14.12 GB",
         "capturing graphs"),
        (f"{TIME}Capture piecewise CUDA graph begin. avail mem=14.12 GB", "capturing graphs (piecewise)"),
        (f"{TIME}Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, avail mem=14.12 GB",
         "capturing graphs (target decode)"),
        (f"{TIME}Capture draft verify CUDA graph begin. backend=full, num_tokens_per_req=4, avail mem=14.12 GB",
         "capturing graphs (draft verify)"),
        ("Capturing batches (bs=16 avail_mem=12.34 GB):  42%|####      | 3/7 [00:01<00:01,  2.50it/s]",
         "capturing graphs, 3 of 7"),
        ("Capturing num tokens (num_tokens=512 avail_mem=12.34 GB):  10%|#         | 6/58 [00:01<00:10,  5.0it/s]",
         "capturing graphs, 6 of 58"),
        ("Compiling num tokens (num_tokens=512):  10%|#         | 6/58 [00:01<00:10,  5.0it/s]",
         "compiling graphs, 6 of 58"),
        (f"{TIME}Capture cuda graph end. Time elapsed: 11.20 s. mem usage=0.69 GB. avail mem=13.43 GB.",
         "graphs captured, they take 0.69 GiB"),
        (f"{TIME}Capture target decode CUDA graph end. bs=[1, 2, 4], elapsed=1.20 s, mem usage=0.69 GB, avail "
         "mem=13.43 GB.", "graphs captured, they take 0.69 GiB"),
        (f"{TIME}Running FlashInfer autotune with cache: /root/.cache/sglang/flashinfer/autotune/x.json",
         "autotuning kernels"),
        (f"{TIME}Running FlashInfer autotune (cache reuse DISABLED via SGLANG_FLASHINFER_AUTOTUNE_CACHE=0); writing "
         "fresh result to: /x", "autotuning kernels"),
        (f"{TIME}max_total_num_tokens=250771, chunked_prefill_size=8192, max_prefill_tokens=16384, "
         "max_running_requests=37, context_len=262144, available_gpu_mem=13.43 GB",
         "loaded, 37 requests and 250771 tokens granted"),
    ],
)  # fmt: skip
def test_lines_of_a_gpu(line: str, phase: str) -> None:
    assert phase_of(line) == phase


@pytest.mark.parametrize(
    "line",
    [
        "",
        "\r",
        f"{TIME}Init parallel ends. elapsed=0.05 s",
        f"{TIME}Decode batch, #running-req: 8, #token: 120, token usage: 0.01, cuda graph: True",
        f'{TIME}INFO:     127.0.0.1:1 - "GET /generate?x=KV Cache is allocated. #tokens: 9 HTTP/1.1" 200 OK',
        f"{TIME}Capture cuda graph bs [1, 2, 4]",
        f"{TIME}somebody wrote: The server is fired up and ready to roll!",
    ],
)
def test_other_lines_tell_no_phase(line: str) -> None:
    assert phase_of(line) == ""
    assert not is_ready(line)


def test_ready_and_progress() -> None:
    assert is_ready(f"{TIME}The server is fired up and ready to roll!\n")
    assert is_progress("[2026-11-29 15:28:05 TP0] Decode batch [17], #running-req: 1, #token: 9, token usage: 0.00")
    assert is_progress(f"{TIME}Prefill batch, #new-seq: 1, #new-token: 29, #cached-token: 0")
    assert not is_progress(f"{TIME}Load weight begin. avail mem=19.90 GB")


def test_a_line_without_end_costs_nothing() -> None:
    import time

    begun = time.monotonic()
    for line in ("Capturing batches (" + "x" * 2_000_000, "[" * 2_000_000, "KV Cache is allocated." + "1" * 2_000_000):
        assert phase_of(line) == ""
    assert time.monotonic() - begun < 1

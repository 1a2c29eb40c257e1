"""What a server is at, by lines as 0.5.12 and 0.5.23 write them."""

from __future__ import annotations

import pytest

from sm120kit.engines.sglang.phases import is_progress, is_ready, phase_of

STAMP = "[2026-11-29 15:15:01] "
LINES = {
    "server_args=ServerArgs(model_path='/m')": "reading its arguments",
    "Init torch distributed begin.": "joining its process group",
    "Init parallel begin.": "joining its process group",
    "Load weight begin. avail mem=94.16 GB": "loading weights, 94.16 GiB free",
    "Load weight end. elapsed=9.10 s, type=Qwen3ForCausalLM, avail mem=43.21 GB, mem usage=50.95 GB.": (
        "weights loaded, 50.95 GiB, 43.21 GiB free"
    ),
    "Mamba Cache is allocated. max_mamba_cache_size: 80, conv_state size: 0.22GB, ssm_state size: 11.39GB ": (
        "allocated 80 state slots"
    ),
    "KV Cache is allocated. #tokens: 8192, K size: 0.00 GB, V size: 0.00 GB": "allocated a pool of 8192 tokens",
    "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 8192, K size: 0.00 GB, V size: 0.00 GB": (
        "allocated a pool of 8192 tokens"
    ),
    "Memory pool end. avail mem=13.43 GB": "pools allocated, 13.43 GiB free",
    "Running FlashInfer autotune with cache: /c": "tuning FlashInfer's kernels",
    "Capture cuda graph begin. This can take up to several minutes. avail mem=13.43 GB": "capturing cuda graphs",
    "Capture piecewise CUDA graph begin. avail mem=13.43 GB": "capturing piecewise CUDA graphs",
    "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, avail mem=13.43 GB": (
        "capturing target decode CUDA graphs"
    ),
    "Capture target decode CUDA graph end. bs=[1], elapsed=1.00 s, mem usage=0.69 GB, avail mem=12.74 GB.": (
        "captured target decode CUDA graphs"
    ),
    "max_total_num_tokens=250771, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=37, "
    "context_len=262144, available_gpu_mem=12.74 GB": "grants 37 requests",
    "INFO:     Started server process [6672]": "opening its port",
    "INFO:     Uvicorn running on http://127.0.0.1:31000 (Press CTRL+C to quit)": "warming up",
    "The server is fired up and ready to roll!": "ready",
}


@pytest.mark.parametrize("prefix", ["", STAMP, "[2026-11-29 15:15:01 TP0] "])
@pytest.mark.parametrize("line", LINES)
def test_lines_that_tell(line: str, prefix: str) -> None:
    assert phase_of(prefix + line) == LINES[line]


@pytest.mark.parametrize(
    "line",
    [
        "",
        f"{STAMP}Decode batch, #running-req: 1, #token: 33, token usage: 0.00",
        f'{STAMP}INFO:     127.0.0.1:38268 - "GET /server_info HTTP/1.1" 200 OK',
        f"{STAMP}the model said: Load weight begin. avail mem=94.16 GB",
        "x" * 100_000,
    ],
)
def test_lines_that_do_not(line: str) -> None:
    assert phase_of(line) == ""


def test_ready() -> None:
    assert is_ready(f"{STAMP}The server is fired up and ready to roll!")
    assert not is_ready(f"{STAMP}somebody wrote The server is fired up and ready to roll! in a prompt")


def test_progress() -> None:
    assert is_progress(f"{STAMP}Decode batch, #running-req: 1")
    assert is_progress(f"{STAMP}Prefill batch, #new-seq: 1")
    assert not is_progress(f'{STAMP}INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 503 Service Unavailable')

"""Answers of running servers, asked over loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sm120kit.engines.sglang.client import get_json
from sm120kit.engines.sglang.endpoints import read_loads, read_server_info
from sm120kit.errors import Sm120kitError

GIB = 1 << 30

INFO_0_5_12: dict[str, Any] = {
    "version": "0.5.12",
    "status": "ready",
    "max_total_num_tokens": 251509,
    "max_running_requests": 64,
    "mem_fraction_static": 0.85,
    "cuda_graph_bs": [1, 2],
    "context_length": None,
    "internal_states": [
        {
            "effective_max_running_requests_per_dp": 37,
            "max_mamba_cache_size": 188,
            "memory_usage": {"weight": 50.95, "kvcache": 15.35, "token_capacity": 251509, "graph": 0.47},
        }
    ],
}
INFO_0_5_23: dict[str, Any] = {
    "version": "0.5.23",
    "max_total_num_tokens": 88883,
    "internal_states": [
        {
            "effective_max_running_requests_per_dp": 256,
            "memory_usage": {"weight": 61.02, "kvcache": 21.7, "graph": {"prefill": 0.2, "decode": 0.31}},
        }
    ],
}
LOADS: dict[str, Any] = {
    "version": "0.5.12",
    "loads": [
        {
            "max_total_num_tokens": 251509,
            "max_running_requests": 37,
            "memory": {"weight_gb": 50.95, "kv_cache_gb": 15.35, "graph_gb": 0.47},
        }
    ],
}


def test_server_info_of_0_5_12() -> None:
    seen = read_server_info(INFO_0_5_12, "here")
    assert (seen.version, seen.granted, seen.tokens, seen.state_slots) == ("0.5.12", 37, 251_509, 188)
    assert (seen.weights, seen.graphs) == (round(50.95 * GIB), round(0.47 * GIB))
    # The number at the top is what was asked for.
    assert (seen.settings["max_running_requests"], seen.settings["cuda_graph_bs"]) == (64, ("1", "2"))


def test_server_info_of_0_5_23_tells_graphs_apart() -> None:
    seen = read_server_info(INFO_0_5_23, "here")
    assert (seen.granted, seen.graphs) == (256, round(0.2 * GIB) + round(0.31 * GIB))


def test_loads() -> None:
    seen = read_loads(LOADS, "here")
    assert (seen.granted, seen.tokens, seen.kv_pool) == (37, 251_509, round(15.35 * GIB))


@pytest.mark.parametrize("answer", [None, [], {}, {"version": 3}, {"version": "0.5.12"}, {"loads": []}, "x"])
def test_what_is_no_answer_of_sglang(answer: object) -> None:
    with pytest.raises(Sm120kitError, match="does not answer as SGLang's /server_info does"):
        read_server_info(answer, "here")
    with pytest.raises(Sm120kitError, match="does not answer as SGLang's /v1/loads does"):
        read_loads(answer, "here")


def test_states_that_are_none_are_left_out() -> None:
    seen = read_server_info({"version": "0.5.12", "max_total_num_tokens": 1, "internal_states": [3]}, "here")
    assert (seen.granted, seen.weights) == (None, None)


Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve these bytes at any path of a port on loopback, and return its address."""
    running: list[ThreadingHTTPServer] = []

    def start(body: bytes, status: int = 200) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                pass

        running.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=running[-1].serve_forever, args=(0.02,), daemon=True).start()
        return f"http://127.0.0.1:{running[-1].server_port}"

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def test_an_answer_over_loopback(serve: Serve) -> None:
    address = serve(json.dumps(INFO_0_5_12).encode())
    assert get_json(address, "/server_info") == INFO_0_5_12
    assert get_json(address.removeprefix("http://"), "/server_info") == INFO_0_5_12


def test_no_answer_is_one_line(serve: Serve) -> None:
    with pytest.raises(Sm120kitError, match="answers with HTTP 503"):
        get_json(serve(b"", 503), "/server_info")
    with pytest.raises(Sm120kitError, match="answers no JSON"):
        get_json(serve(b"<html>"), "/server_info")
    with pytest.raises(Sm120kitError, match="connection refused"):
        get_json("http://127.0.0.1:1", "/server_info")


def test_a_server_that_hangs_is_not_waited_for() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(Sm120kitError, match="in time"):
            get_json(address, "/server_info", limit_s=0.2)


@pytest.mark.parametrize("address", ["ftp://x", "http://", "http://127.0.0.1:999999", "http://[::1"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(Sm120kitError, match="is no address"):
        get_json(address, "/server_info")

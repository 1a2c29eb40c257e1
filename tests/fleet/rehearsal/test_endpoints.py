"""What a stand-in answers, beside what genuine servers were recorded to answer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from sm120kit.capacity.machine import TAKEN_BEFORE_LOADING
from sm120kit.engines.sglang.endpoints import read_loads, read_server_info
from sm120kit.engines.sglang.startup_log import read_startup_log
from sm120kit.fleet.rehearsal.settings import recorded
from sm120kit.fleet.rehearsal.shapes import differences
from sm120kit.fleet.spec import Expectation
from tests.fleet.rehearsal.stand_ins import FOOTPRINT, VERSIONS, StandIn, spec_of, started, wait_for
from tools.record_sglang_answers import QUESTIONS, Question, answer_of, log_forms

pytestmark = pytest.mark.rehearsal

OWN = {
    "model_info": ("rehearsal: not in the genuine answer",),
    "models": ("data.rehearsal: not in the genuine answer",),
    "server_info": ("rehearsal: not in the genuine answer", "internal_states.rehearsal: not in the genuine answer"),
    "loads": ("rehearsal: not in the genuine answer",),
}
"""What a stand-in says beside what SGLang says: that it is one."""

ASKED_OTHERWISE = (
    "internal_states.memory_usage.graph: float instead of int",  # the genuine ones ran on a CPU, without graphs
    "loads.memory.graph_gb: float instead of int",
    "meta_info.cached_tokens_details: null instead of an object",  # a stand-in caches nothing
    *(
        f"{place}{difference}"
        for place in ("", "internal_states.")
        for difference in ("nccl_port: int instead of null", "max_total_tokens: null instead of int")
    ),
)
"""What differs because the genuine servers were started with other arguments."""


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    """One that is ready and stays so."""
    folder = tmp_path_factory.mktemp("endpoints")
    arguments = ("--max-running-requests", "4", "--enable-metrics", "--served-model-name", "some")
    spec = spec_of(version=request.param, arguments=arguments, parser="qwen3")
    with started(spec, folder) as running:
        yield running.ready()


def _version(server: StandIn) -> str:
    return str(server.get("/server_info")["version"])


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_answers_have_the_fields_of_genuine_ones(server: StandIn, question: Question) -> None:
    known = recorded()[_version(server)]["answers"][question.name]
    status, shape = answer_of(("127.0.0.1", server.port), question)
    assert status == known["status"]
    found = [each for each in differences(known["shape"], shape) if each not in ASKED_OTHERWISE]
    assert found == list(OWN.get(question.name, ()))


def test_it_logs_what_genuine_ones_log(server: StandIn) -> None:
    known = recorded()[_version(server)]["log"]
    said = dict.fromkeys(log_forms(server.log.splitlines()))
    unknown = [form for form in said if form.replace("gpu", "cpu").replace("cuda", "cpu") not in _like(known)]
    assert [form for form in unknown if "raph" not in form and '- "' not in form] == []
    begun = [form for form in said if form.startswith(("Init ", "Load ", "KV ", "Memory ", "max_", "The server"))]
    order = [_like(known).index(form.replace("gpu", "cpu")) for form in begun]
    assert order == sorted(order)


def _like(forms: list[str]) -> list[str]:
    """A recorded server ran on a CPU, a stand-in seems to run on a GPU."""
    return [form.replace("gpu", "cpu").replace("cuda", "cpu") for form in forms]


def test_our_own_readers_understand_it(server: StandIn) -> None:
    info = read_server_info(server.get("/server_info"), "here")
    loads = read_loads(server.get("/v1/loads"), "here")
    log = read_startup_log(server.log.splitlines(), "here")
    for seen in (info, loads, log):
        assert (seen.granted, seen.tokens) == (4, 100_000)
    assert log.not_understood == ()
    assert log.graphs == pytest.approx(FOOTPRINT // 20, rel=0.01)
    assert info.weights == pytest.approx(FOOTPRINT // 3, rel=0.01)
    assert log.settings["max_running_requests"] == 4
    assert log.settings["served_model_name"] == info.settings["served_model_name"] == "some"


@pytest.mark.parametrize("version", VERSIONS)
def test_its_log_tells_the_sizes_of_the_plan(version: str, tmp_path: Path) -> None:
    spec = spec_of(version=version)
    expected = Expectation(
        4, 100_000, FOOTPRINT, 51 << 30, state_slots=95, state_pool=13 << 30, kv_pool=12 << 30, graphs=1 << 29
    )
    replica = replace(spec.replicas[0], expected=expected)
    with started(replace(spec, replicas=(replica,)), tmp_path) as server:
        info = read_server_info(server.ready().get("/server_info"), "here")
        log = read_startup_log(server.log.splitlines(), "here")
    assert (log.state_slots, log.not_understood) == (95, ())
    seen = (log.free_before, log.weights, log.state_pool, log.kv_pool, log.graphs, info.kv_pool)
    free = 97_887 * (1 << 20) - TAKEN_BEFORE_LOADING
    planned = (free, 51 << 30, 13 << 30, 12 << 30, 1 << 29, 12 << 30)
    assert list(seen) == pytest.approx(list(planned), abs=0.02 * (1 << 30))


def test_every_text_says_that_it_is_a_rehearsal(server: StandIn) -> None:
    assert server.log.startswith("[")
    assert "REHEARSAL" in server.log.splitlines()[0]
    message = server.chat()["choices"][0]["message"]
    assert message["content"].startswith("rehearsal")
    assert message["reasoning_content"].startswith("rehearsal")
    assert server.post("/generate", {"text": "x"})["text"].startswith("rehearsal")
    assert server.post("/v1/completions", {"prompt": "x"})["choices"][0]["text"].startswith("rehearsal")
    command = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    assert b"rehearsal" in command
    assert Path(f"/proc/{server.scheduler}/cmdline").read_bytes() == command


def test_an_answer_depends_on_its_question_alone(server: StandIn) -> None:
    texts = [server.chat(text)["choices"][0]["message"]["content"] for text in ("one", "one", "another")]
    assert texts[0] == texts[1] != texts[2]


def test_thinking_takes_its_share_of_the_tokens(server: StandIn) -> None:
    whole = server.chat()
    thought = whole["usage"]["reasoning_tokens"]
    assert 0 < thought < whole["usage"]["completion_tokens"]
    assert whole["choices"][0]["finish_reason"] == "stop"
    cut = server.chat(max_tokens=thought)["choices"][0]
    assert (cut["finish_reason"], cut["message"]["content"] or "") == ("length", "")
    assert len(cut["message"]["reasoning_content"].split()) == thought
    off = server.chat(chat_template_kwargs={"enable_thinking": False})["choices"][0]["message"]
    assert off["reasoning_content"] is None
    assert off["content"]
    together = server.chat(separate_reasoning=False)["choices"][0]["message"]
    assert together["reasoning_content"] is None
    assert together["content"].startswith("<think>\nrehearsal")


def test_streams_add_up_to_the_whole_answer(server: StandIn) -> None:
    whole = server.chat()
    body = {"messages": [{"role": "user", "content": "Say something."}], "stream": True}
    body["stream_options"] = {"include_usage": True}
    _, raw = server.ask("POST", "/v1/chat/completions", body)
    lines = [line for line in raw.decode().split("\n\n") if line]
    assert lines[-1] == "data: [DONE]"
    events = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
    message = whole["choices"][0]["message"]
    for name in ("content", "reasoning_content"):
        assert "".join(delta.get(name) or "" for delta in deltas) == message[name]
    assert events[-1]["usage"] == whole["usage"]
    assert len(deltas) > 4


def test_bad_requests_are_refused_and_harm_nothing(server: StandIn) -> None:
    for path, body in (
        ("/v1/chat/completions", []),
        ("/v1/chat/completions", {"messages": "hi"}),
        ("/v1/chat/completions", {"messages": [1]}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "max_tokens": 0}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "max_tokens": 40_000}),
        ("/generate", {"text": 7}),
        ("/v1/completions", {"prompt": None}),
    ):
        assert server.ask("POST", path, body)[0] == 400
    assert server.ask("GET", "/generate")[0] == 405
    assert server.chat()["choices"]


def test_no_more_than_granted_run_at_once_and_the_others_wait(server: StandIn) -> None:
    answers: list[object] = []
    body = {"text": "x", "sampling_params": {"max_new_tokens": 60, "ignore_eos": True}}
    threads = [threading.Thread(target=lambda: answers.append(server.post("/generate", body))) for _ in range(7)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    seen: set[tuple[int, int]] = set()

    def filled() -> bool:
        load = server.get("/v1/loads")["loads"][0]
        seen.add((load["num_running_reqs"], load["num_waiting_reqs"]))
        return (4, 3) in seen

    wait_for(filled, "a full batch and three that wait")
    for thread in threads:
        thread.join()
    assert len(answers) == 7
    assert max(running for running, _ in seen) == 4
    assert time.monotonic() - begun > 2 * 60 / 200


def test_who_leaves_is_forgotten(server: StandIn) -> None:
    body = {"text": "x", "sampling_params": {"max_new_tokens": 20_000, "ignore_eos": True}}
    with pytest.raises(TimeoutError):
        server.ask("POST", "/generate", body, limit_s=0.3)
    wait_for(lambda: server.get("/v1/loads")["loads"][0]["num_running_reqs"] == 0, "an empty batch")


def test_connections_are_kept(server: StandIn) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for _ in range(3):
        connection.request("GET", "/v1/models")
        assert connection.getresponse().read()
    port = connection.sock.getsockname()[1]
    connection.close()
    assert server.log.count(f'127.0.0.1:{port} - "GET /v1/models HTTP/1.1" 200 OK') == 3


def test_nonsense_on_the_wire_is_refused(server: StandIn) -> None:
    import socket

    for raw in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\ncontent-length: x\r\n\r\n", b"x" * 70_000):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(raw)
            assert client.recv(4096).startswith(b"HTTP/1.1 4")
    assert server.get("/v1/models")


def test_metrics_need_their_flag(server: StandIn, tmp_path: Path) -> None:
    status, text = server.ask("GET", "/metrics")
    assert status == 200
    assert b"\nsglang:num_running_reqs{" in text
    with started(spec_of(), tmp_path) as plain:
        assert plain.ready().ask("GET", "/metrics")[0] == 404

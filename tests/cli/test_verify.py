"""``sm120kit verify`` with addresses of servers that somebody else started."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp import web
from jsonschema import Draft202012Validator

from tests.cli.conftest import Command
from tests.fleet.verification.stand_in import Server, answer, running


def server(**changes: Any) -> Server:
    """One that granted all that it was asked for."""
    return Server(settings={"max_running_requests": 37}, **changes)


@contextmanager
def serving(*servers: Server) -> Iterator[list[str]]:
    """Their addresses, while they answer in another thread."""
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def serve() -> None:
        async with running(*servers):
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(10)
        yield [server.url for server in servers]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(10)
        loop.close()


def test_servers_that_are_well(sm120kit: Command) -> None:
    with serving(server(), server()) as urls:
        answer = sm120kit("verify", *urls, "--level", "standard", "-v")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "2 servers, level standard"
    assert urls[1] in lines[3]
    assert "Verified: 2 of 2 at level standard." in lines
    assert "74 granted" in answer.out
    assert f"server 1, {urls[1]}: verified" in lines
    assert "  passed      generation: " in answer.out
    assert "REHEARSAL" not in answer.out


def test_one_that_answers_otherwise_is_named_with_the_evidence(sm120kit: Command) -> None:
    with serving(server(), server(), server(text="Nothing of the kind.")) as urls:
        answer = sm120kit("verify", *urls, "--level", "quick")
    assert answer.code == 1
    assert "Not verified: 2 of 3 at level quick." in answer.out
    block = answer.out[answer.out.index(f"\nserver 2, {urls[2]}: unverified") :]
    assert "  failed      generation: " in block
    assert f"server 0, {urls[0]}: " not in answer.out


def test_the_data_fits_its_schema(sm120kit: Command) -> None:
    schema = json.loads(sm120kit("schema", "fleet").out)
    with serving(server()) as urls:
        answer = sm120kit("verify", *urls, "--level", "load", "--json")
    fleet = json.loads(answer.out)
    Draft202012Validator(schema).validate(fleet)
    assert answer.code == 0
    assert (fleet["schema"], fleet["verified"], fleet["rehearsal"]) == ("sm120kit.fleet/1", True, False)
    assert fleet["granted_total"] == 37
    assert fleet["replicas"][0]["url"] == urls[0]
    assert {each["name"] for each in fleet["replicas"][0]["verdicts"]} >= {"model", "generation", "load"}


def test_what_was_granted_and_what_not_is_said_in_numbers(sm120kit: Command) -> None:
    with serving(Server()) as urls:
        answer = sm120kit("verify", *urls, "--level", "quick")
    assert answer.code == 1
    assert "  failed      concurrency: " in answer.out
    assert "27 fewer than asked for" in answer.out
    assert " 64 requested, none predicted, 0 granted" in answer.out


def test_nobody_answers(sm120kit: Command) -> None:
    with serving(server()) as urls:
        pass
    answer = sm120kit("verify", *urls)
    assert answer.code == 1
    assert "Not verified: 0 of 1" in answer.out
    assert answer.out.count("connection refused") == 1
    assert "generation and 6 more not judged  not tried: nothing can be asked of this server" in answer.out


def test_a_stand_in_is_never_taken_for_hardware(sm120kit: Command) -> None:
    async def stand_in(_request: web.Request) -> web.StreamResponse:
        said = {"model_path": "/models/some", "is_generation": True}
        return web.json_response(said, headers={"server": "sm120kit-rehearsal"})

    with serving(server(), server(handlers={"/model_info": stand_in})) as urls:
        answer = sm120kit("verify", *urls, "--level", "quick")
    lines = answer.out.splitlines()
    assert answer.code == 0
    assert lines[0].startswith("REHEARSAL")
    assert lines[-1] == lines[0]
    assert "Verified in a rehearsal: 2 of 2 at level quick." in lines


def test_the_key_comes_from_a_variable_and_is_not_shown(sm120kit: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER_KEY", "correct-horse-battery")
    with serving(server(api_key="correct-horse-battery")) as urls:
        refused = sm120kit("verify", *urls, "--level", "quick")
        let_in = sm120kit("verify", *urls, "--level", "quick", "--api-key-variable", "SERVER_KEY", "-v")
    assert (refused.code, let_in.code) == (1, 0)
    assert "correct-horse" not in refused.out + let_in.out + let_in.err


def test_a_key_that_is_missing_or_wrong_is_told_once(sm120kit: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER_KEY", "wrong-horse-battery")
    with serving(server(api_key="correct-horse-battery")) as urls:
        without = sm120kit("verify", *urls, "--level", "quick")
        wrong = sm120kit("verify", *urls, "--level", "quick", "--api-key-variable", "SERVER_KEY")
    assert "model: it wants an API key: " in without.out
    assert "--api-key-variable NAME" in without.out
    assert "model: it does not take the API key that was given: " in wrong.out
    assert without.out.count("401") == wrong.out.count("401") == 1


def test_what_is_no_sglang_is_said_to_be_none(sm120kit: Command) -> None:
    missing = answer({"detail": "Not Found"}, 404)
    vllm = answer({"object": "list", "data": [{"id": "qwen", "owned_by": "vllm"}]})
    others = dict.fromkeys(("/model_info", "/server_info"), missing)
    servers = (server(handlers={**others, "/v1/models": each}) for each in (vllm, missing))
    with serving(*servers) as (one, other):
        said = " ".join(sm120kit("verify", one, "--level", "quick").out.split())
        nothing = " ".join(sm120kit("verify", other, "--level", "quick").out.split())
    assert "model: this is no SGLang server: beside /v1/models it has neither" in said
    assert 'its model is owned_by "vllm"' in said
    assert "failed generation" not in said
    assert "model: this is no SGLang server: it has neither /v1/models nor /model_info" in nothing


def test_an_address_with_the_v1_that_clients_are_given(sm120kit: Command) -> None:
    with serving(server()) as urls:
        answered = sm120kit("verify", f"{urls[0]}/v1", "--level", "quick")
        twice = sm120kit("verify", f"{urls[0]}/v1/", urls[0])
    assert (answered.code, twice.code) == (0, 2)


def test_a_server_that_says_nothing(sm120kit: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sm120kit.fleet.verification.climb.INFO_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        said = sm120kit("verify", f"http://127.0.0.1:{mute.getsockname()[1]}", "--level", "quick").out
    assert "did not answer within 0.3 s. A server that works answers it at once" in " ".join(said.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ftp://x",), "ftp://x is no address of a server"),
        (("http://127.0.0.1:1", "http://127.0.0.1:1"), "is given twice"),
        (("http://127.0.0.1:99999",), "is no address"),
        (("one", "two"), "2 fleets were named"),
        (("http://127.0.0.1:1", "--api-key-variable", "SM120KIT_NO_SUCH"), "holds no API key"),
    ],
)
def test_what_cannot_be_verified(sm120kit: Command, words: tuple[str, ...], message: str) -> None:
    answer = sm120kit("verify", *words)
    assert answer.code == 2
    assert message in answer.err

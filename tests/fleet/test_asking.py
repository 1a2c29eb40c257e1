"""Questions over HTTP: every answer that a server can think of is bounded and worded, none raises."""

from __future__ import annotations

import asyncio
import gzip
import resource
import time
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.asking import Reply, connections_possible, open_asking
from tests.fleet.verification.stand_in import Handler, Server, answer, running


def asked(handler: Handler, *, limit_s: float = 5, api_key: str = "") -> Reply:
    """What comes of one question that is answered so."""
    server = Server(handlers={"/here": handler})

    async def run() -> Reply:
        async with running(server), open_asking(api_key) as ask:
            return await ask.get(server.url, "/here", limit_s=limit_s)

    return asyncio.run(run())


def raw(body: bytes, **options: Any) -> Handler:
    """Always these bytes."""

    async def handle(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, **options)

    return handle


async def _reset(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def _drip(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.02)


async def _endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"x" * (1 << 20))


async def _silent(_request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(30)
    return web.Response()


def test_an_answer_is_its_json() -> None:
    reply = asked(answer({"a": [1]}))
    assert (reply.value, reply.problem, reply.status) == ({"a": [1]}, "", 200)


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (raw(b"<html>"), "answers no JSON: <html>"),
        (raw(b""), "answers no JSON: nothing"),
        (raw(b"[" * 100_000), "answers no JSON"),
        (raw(b"\xff\xfe\x1b[31m"), "answers no JSON"),
        (raw(gzip.compress(b"{}"), headers={"Content-Encoding": "gzip"}), "answers no JSON"),
        (answer({"object": "error", "message": "too long"}, 400), "answers with HTTP 400: too long"),
        (answer({"error": {"message": "no worker"}}, 503), "answers with HTTP 503: no worker"),
        (answer({"detail": "Not Found"}, 404), "answers with HTTP 404: Not Found"),
        (answer([1], 500), "answers with HTTP 500: [1]"),
        (raw(b"", status=302, headers={"Location": "http://127.0.0.1:1/"}), "answers with HTTP 302"),
        (_reset, "does not answer: "),
        (_endless, "answers with more than 8 MiB"),
    ],
)  # fmt: skip
def test_any_other_answer_is_a_problem(handler: Handler, said: str) -> None:
    reply = asked(handler)
    assert reply.problem.startswith(said)
    assert reply.value is None
    assert "\x1b" not in reply.problem


@pytest.mark.parametrize("handler", [_drip, _silent])
def test_a_slow_answer_is_given_up_in_time(handler: Handler) -> None:
    started = time.monotonic()
    reply = asked(handler, limit_s=0.3)
    assert reply.timed_out
    assert reply.problem == "did not answer within 0.3 s"
    assert time.monotonic() - started < 2


def test_nobody_at_the_port() -> None:
    async def run() -> Reply:
        async with open_asking() as ask:
            return await ask.get("http://127.0.0.1:1", "/", limit_s=5)

    reply = asyncio.run(run())
    assert reply.unreachable.startswith("nothing listens at 127.0.0.1:1 (connection refused)")
    assert reply.problem == f"does not answer: {reply.unreachable}"


@pytest.mark.parametrize(
    ("sent", "scheme", "said"),
    [
        (b"", "http", "closed the connection without an answer: does it want https://127.0.0.1:"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "http", "does not answer in HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"x-\x1b[31m: y\r\n\r\n", "http", "does not answer in HTTP"),
        (b"HTTP/1.1 200 OK\r\nserver: " + b"y" * 100_000 + b"\r\n\r\n", "http", "does not answer in HTTP"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "https", "does not speak TLS: is http://127.0.0.1:"),
    ],
)  # fmt: skip
def test_what_is_no_http_server_is_said_in_words(sent: bytes, scheme: str, said: str) -> None:
    async def run() -> Reply:
        async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(sent)
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, open_asking() as ask:
            port = server.sockets[0].getsockname()[1]
            return await ask.get(f"{scheme}://127.0.0.1:{port}", "/", limit_s=5)

    reply = asyncio.run(run())
    assert said in reply.unreachable
    assert "\x1b" not in reply.problem
    assert "ssl:default" not in reply.problem


def test_no_address() -> None:
    async def run() -> Reply:
        async with open_asking() as ask:
            return await ask.get("http://", "/", limit_s=5)

    with pytest.raises(Sm120kitError, match="no address of a server"):
        asyncio.run(run())


def test_the_key_goes_along_and_into_no_message() -> None:
    seen: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers["Authorization"])
        return web.Response(status=401, text="wrong: my-own-key-7")

    reply = asked(handle, api_key="my-own-key-7")
    assert seen == ["Bearer my-own-key-7"]
    assert reply.problem == "answers with HTTP 401: wrong: [redacted]"


def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert asked(answer({})).problem == ""


@pytest.mark.parametrize(
    ("limits", "wanted", "possible", "raised_to"),
    [
        ((1024, 4096), 300, 300, None),
        ((1024, 4096), 2048, 2048, 2304),
        ((1024, 2000), 2048, 1744, 2000),
        ((100, 100), 50, 1, None),
        ((-1, -1), 2048, 2048, None),
    ],
)
def test_the_limit_of_open_files(
    limits: tuple[int, int], wanted: int, possible: int, raised_to: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[int] = []
    keep: Callable[[int, tuple[int, int]], None] = lambda _what, both: raised.append(both[0])  # noqa: E731
    monkeypatch.setattr(resource, "getrlimit", lambda _what: limits)
    monkeypatch.setattr(resource, "setrlimit", keep)
    assert connections_possible(wanted) == possible
    assert (raised[-1] if raised and raised[-1] != limits[0] else None) == raised_to

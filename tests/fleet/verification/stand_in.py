"""Small servers that answer as SGLang does, or as a test wants them to: in this process, on loopback."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from sm120kit.engines.sglang.client import split_address

COUNTING = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """One server's behaviour; every attribute may be changed while it runs."""

    def __init__(self, **changes: Any) -> None:
        self.model = "/models/some"
        self.served = "some"
        self.text = COUNTING
        self.second_text: str | None = None
        """What it says when it is asked once more."""
        self.reasoning: str | None = None
        self.finish_reason: str | None = "stop"
        self.tokens: int | None = 60
        self.chat_template = True
        self.thinks: Callable[[int], dict[str, Any]] = lambda _budget: _message("51", "17 times 3 is 51, more than 49.")
        self.granted = 37
        self.pool = 200_000
        self.settings: dict[str, Any] = {}
        self.state: dict[str, Any] = {}
        self.token_s = 0.002
        """Of one step of the batch."""
        self.others = 0
        """Requests of other clients that run all the while."""
        self.runs_at_most: int | None = None
        """What really runs together, whatever it says that it grants."""
        self.handlers: dict[str, Handler] = {}
        """What is done in place of the usual at a path."""
        self.running = 0
        self.waiting = 0
        self.most_seen = 0
        self.asked: list[tuple[str, Any]] = []
        self.url = ""
        self.api_key = ""
        for name, value in changes.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        self._slots = asyncio.Semaphore(self.runs_at_most or self.granted)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Every path there is."""
        if self.api_key and request.headers.get("Authorization") != f"Bearer {self.api_key}":
            return web.json_response({"error": "Unauthorized"}, status=401)
        body = await request.json() if request.method == "POST" else None
        self.asked.append((request.path, body))
        if request.path in self.handlers:
            return await self.handlers[request.path](request)
        answers: dict[str, Callable[[Any], Awaitable[web.StreamResponse]]] = {
            "/v1/models": self._models,
            "/model_info": self._model_info,
            "/server_info": self._server_info,
            "/v1/loads": self._loads,
            "/v1/chat/completions": self._chat,
            "/v1/completions": self._completions,
            "/generate": self.generate,
        }
        if request.path not in answers:
            return web.json_response({"detail": "Not Found"}, status=404)
        return await answers[request.path](body)

    async def _models(self, _body: Any) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": self.served, "object": "model"}]})

    async def _model_info(self, _body: Any) -> web.Response:
        return web.json_response({"model_path": self.model, "is_generation": True})

    async def _server_info(self, _body: Any) -> web.Response:
        asked = {"model_path": self.model, "port": split_address(self.url).port, "random_seed": id(self),
                 "attention_backend": "triton", "mem_fraction_static": 0.85, "page_size": 1, "load_format": "auto",
                 "max_running_requests": 64, "reasoning_parser": None, "api_key": None, **self.settings}  # fmt: skip
        state = {**asked, "effective_max_running_requests_per_dp": self.granted, "last_gen_throughput": time.time(),
                 **self.state}  # fmt: skip
        return web.json_response(
            {**asked, "version": "0.5.23", "max_total_num_tokens": self.pool, "max_req_input_len": 4090,
             "launch_command": self.url, "internal_states": [state]}
        )  # fmt: skip

    async def _loads(self, _body: Any) -> web.Response:
        load = {"dp_rank": 0, "num_running_reqs": self.running + self.others, "num_waiting_reqs": self.waiting,
                "max_running_requests": self.granted, "max_total_num_tokens": self.pool,
                "timestamp": time.time()}  # fmt: skip
        return web.json_response({"version": "0.5.23", "loads": [load]})

    async def _chat(self, body: Any) -> web.Response:
        if not self.chat_template:
            said = "Cannot use chat template functions because tokenizer.chat_template is not set"
            return web.json_response({"object": "error", "message": said, "code": 400}, status=400)
        if body["max_tokens"] > 100:
            return web.json_response(self._completion(self.thinks(body["max_tokens"])))
        said = self.text
        if self.second_text is not None and sum(path == "/v1/chat/completions" for path, _ in self.asked) > 1:
            said = self.second_text
        message = {"role": "assistant", "content": said, "reasoning_content": self.reasoning}
        return web.json_response(self._completion({"message": message, "finish_reason": self.finish_reason}))

    async def _completions(self, _body: Any) -> web.Response:
        return web.json_response(self._completion({"text": self.text, "finish_reason": self.finish_reason}))

    def _completion(self, choice: dict[str, Any]) -> dict[str, Any]:
        usage = {} if self.tokens is None else {"usage": {"completion_tokens": self.tokens}}
        return {"choices": [{"index": 0, **choice}], **usage}

    async def generate(self, body: Any) -> web.Response:
        tokens = body["sampling_params"]["max_new_tokens"]
        self.waiting += 1
        async with self._slots:
            self.waiting -= 1
            self.running += 1
            self.most_seen = max(self.most_seen, self.running)
            await asyncio.sleep(tokens * self.token_s)
            self.running -= 1
        meta = {"completion_tokens": tokens, "finish_reason": {"type": "length", "length": tokens}}
        return web.json_response({"text": "word " * tokens, "meta_info": meta})


def _message(content: str, reasoning: str | None, finish_reason: str = "stop") -> dict[str, Any]:
    """A choice of a chat completion."""
    return {"message": {"content": content, "reasoning_content": reasoning}, "finish_reason": finish_reason}


message = _message


@asynccontextmanager
async def running(*servers: Server) -> AsyncIterator[list[Server]]:
    """These servers, each on a port of its own."""
    runners = []
    try:
        for server in servers:
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", server.handle)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            runners.append(runner)
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield list(servers)
    finally:
        for runner in runners:
            await runner.cleanup()


def answer(value: Any, status: int = 200) -> Handler:
    """A handler that always answers this, as JSON."""

    async def handle(_request: web.Request) -> web.StreamResponse:
        return web.Response(text=json.dumps(value), status=status, content_type="application/json")

    return handle

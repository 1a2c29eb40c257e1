"""The endpoints of a stand-in."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from sm120kit.fleet.rehearsal.answers import Answers
from sm120kit.fleet.rehearsal.connection import Connection, Request
from sm120kit.fleet.rehearsal.generation import Asked, Generator, RefusedError
from sm120kit.fleet.rehearsal.in_flight import InFlight
from sm120kit.fleet.rehearsal.log import say
from sm120kit.fleet.rehearsal.loop import Loop
from sm120kit.fleet.rehearsal.stream import Stream

_FLUSHED = (
    "Cache flushed.\nPlease check backend logs for more details. "
    "(When there are running or waiting requests, the operation will not be performed.)\n"
)
_OPEN_TO_ALL = ("/health", "/ready", "/metrics")
_TEXT = "text/plain; charset=utf-8"


class Status:
    """What the server thinks of itself."""

    def __init__(self) -> None:
        self.starting = True
        self.unhealthy = False
        self.draining = False

    @property
    def up(self) -> bool:
        """As far as it knows, without asking the scheduler."""
        return not (self.starting or self.unhealthy)


class Api:
    """Answers requests."""

    def __init__(self, loop: Loop, answers: Answers, in_flight: InFlight, status: Status, key: str) -> None:
        self.loop, self.answers, self.in_flight, self.status, self.key = loop, answers, in_flight, status, key
        self.generator = Generator(answers)
        self.health_limit = float(os.environ.get("SGLANG_HEALTH_CHECK_TIMEOUT", "20"))
        self.health_generates = os.environ.get("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "1") not in ("0", "false")
        state = self._of_state
        routes: dict[str, Callable[[Connection, Request], None]] = {
            "/health": self._health,
            "/health_generate": self._health,
            "/ping": self._ping,
            "/model_info": lambda to, _: to.respond_json(200, answers.model_info()),
            "/get_model_info": self._deprecated(
                "/model_info", lambda to, _: to.respond_json(200, answers.model_info())
            ),
            "/v1/models": lambda to, _: to.respond_json(200, answers.models()),
            "/server_info": state(answers.server_info),
            "/get_server_info": self._deprecated("/server_info", state(answers.server_info)),
            "/v1/loads": state(answers.loads),
            "/flush_cache": self._flush,
            "/generate": self._generate,
            "/v1/completions": self._generate,
            "/v1/chat/completions": self._generate,
        }
        if answers.new:
            routes |= {
                "/ready": self._ready,
                "/freeze_gc": lambda to, _: to.respond(200, b"Garbage collection frozen.\n", _TEXT),
            }
        else:
            routes["/get_load"] = self._deprecated("/v1/loads", state(self._old_load))
        if answers.settings.get("enable_metrics"):
            routes["/metrics"] = self._metrics
        self.routes = routes

    def handle(self, to: Connection, request: Request) -> None:
        """Answer one request, now or later."""
        to.answered = lambda line, status: say(f'INFO:     {to.peer} - "{line}" {status} {_phrase(status)}')
        route = self.routes.get(request.path)
        if not self._allowed(request):
            to.respond_json(401, {"error": "Unauthorized"})
        elif route is None:
            to.respond_json(404, {"detail": "Not Found"})
        elif route == self._generate and request.method not in ("POST", "PUT"):
            to.respond_json(405, {"detail": "Method Not Allowed"})
        else:
            route(to, request)

    def _allowed(self, request: Request) -> bool:
        if not self.key or request.path.startswith(_OPEN_TO_ALL):
            return True
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and given == self.key

    def _health(self, to: Connection, request: Request) -> None:
        if self.status.draining:
            say("Health check request received during shutdown. Returning 503.")
        if self.status.draining or self.status.starting:
            to.respond(503)
            return
        if not self.health_generates and request.path == "/health":
            to.respond(200)
            return
        tic = time.time()
        rid = self.in_flight.probe()

        def look() -> None:
            if self.in_flight.last_received > tic:
                self.status.unhealthy = False
                self.in_flight.abort(rid)
                to.respond(200)
            elif time.time() < tic + self.health_limit:
                self.loop.after(self.answers.profile.health_s, look)
            else:
                self.status.unhealthy = True
                self.in_flight.abort(rid)
                say(
                    "Health check failed. Server couldn't get a response from detokenizer for last "
                    f"{self.health_limit:.0f} seconds. tic start time: {_clock(tic)}. last_heartbeat time: "
                    f"{_clock(self.in_flight.last_received)}"
                )
                to.respond(503)

        self.loop.after(self.answers.profile.health_s, look)

    def _ready(self, to: Connection, _request: Request) -> None:
        to.respond(200 if self.status.up else 503)

    def _ping(self, to: Connection, _request: Request) -> None:
        to.respond(200 if self.status.up or not self.answers.new else 503)

    def _deprecated(
        self, instead: str, route: Callable[[Connection, Request], None]
    ) -> Callable[[Connection, Request], None]:
        def warned(to: Connection, request: Request) -> None:
            say(
                f"Endpoint '{request.path}' is deprecated and will be removed in a future version. Please use "
                f"'{instead}' instead."
            )
            route(to, request)

        return warned

    def _of_state(self, answer: Callable[[dict[str, Any]], Any]) -> Callable[[Connection, Request], None]:
        def asked(to: Connection, _request: Request) -> None:
            self.in_flight.ask("state", lambda state: to.respond_json(200, answer(state)))

        return asked

    def _old_load(self, state: dict[str, Any]) -> list[dict[str, Any]]:
        whole = state["running"] + state["waiting"]
        return [
            {
                "dp_rank": None,
                "num_reqs": whole,
                "num_waiting_reqs": state["waiting"],
                "num_tokens": state["used"] + state["pending"],
                "num_pending_tokens": state["pending"],
                "ts_tic": time.perf_counter(),
            }
        ]

    def _metrics(self, to: Connection, _request: Request) -> None:
        kind = "text/plain; version=0.0.4; charset=utf-8"
        self.in_flight.ask("state", lambda state: to.respond(200, self.answers.metrics(state).encode(), kind))

    def _flush(self, to: Connection, _request: Request) -> None:
        def answered(state: dict[str, Any]) -> None:
            to.respond(
                200 if state["idle"] else 400, _FLUSHED.encode() if state["idle"] else b"Flush cache failed.\n", _TEXT
            )

        self.in_flight.ask("flush", answered)

    def _generate(self, to: Connection, request: Request) -> None:
        try:
            asked = self.generator.read(request.path, request.json())
        except (ValueError, RefusedError) as error:
            self._refuse(to, request.path, error)
            return
        if asked.stream:
            self._stream(to, asked)
            return
        began = time.time()
        rids: list[str] = []

        def done() -> None:
            to.respond_json(200, self.generator.whole(asked, rids, began))

        rids += self.in_flight.generate_all([(job.prompt, job.text.tokens) for job in asked.jobs], done)
        to.gone = lambda: self.in_flight.abort(*rids)

    def _refuse(self, to: Connection, path: str, error: Exception) -> None:
        if isinstance(error, RefusedError) and error.too_long and not self.answers.new:
            self.in_flight.abandoned.add(self.in_flight.new_rid())
        if path == "/generate":
            say(f"[http_server] Error: {error}")
            to.respond_json(400, {"error": {"message": str(error)}})
        else:
            told = {"object": "error", "message": str(error), "type": "BadRequestError", "param": None, "code": 400}
            to.respond_json(400, told)

    def _stream(self, to: Connection, asked: Asked) -> None:
        rid = self.in_flight.new_rid()
        stream = Stream(self.generator, asked, rid, time.time())
        to.begin_stream()
        told = 0

        def grown(made: int) -> None:
            nonlocal told
            if made > told:
                if not told and (first := stream.begin()):
                    to.piece(first)
                told = made
                to.piece(stream.grown(made))

        def done(made: int) -> None:
            grown(made)
            to.piece(stream.end())
            to.end_stream()

        job = asked.jobs[0]
        self.in_flight.generate(rid, job.prompt, job.text.tokens, grown, done)
        to.gone = lambda: self.in_flight.abort(rid)


def _clock(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment))


def _phrase(status: int) -> str:
    from http import HTTPStatus

    return HTTPStatus(status).phrase

"""One server's way up the ladder: what can be asked of it by itself, and where its verdicts are collected."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from sm120kit.engines.sglang.effective import effective_settings
from sm120kit.engines.sglang.endpoints import read_granted, read_loads
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.asking import Asking, Reply
from sm120kit.fleet.spec import Limits, Thinking
from sm120kit.fleet.types import Level, Struct, Verdict
from sm120kit.fleet.verification import generation, load
from sm120kit.fleet.verification.closed_to_us import closed, no_sglang
from sm120kit.fleet.verification.concurrency import judge_concurrency
from sm120kit.fleet.verification.configuration import Settings, read_settings
from sm120kit.fleet.verification.model import judge_model
from sm120kit.fleet.verification.port_owner import Holder, judge_port_owner
from sm120kit.fleet.verification.thinking import verify_thinking
from sm120kit.fleet.verification.types import NAMES, Subject, asked_at
from sm120kit.fleet.verification.wording import quoted

INFO_S = 10.0
"""Seconds for an answer that costs the server nothing. ``/server_info`` waits for the scheduler, which may be
at one step of prefill for seconds, and never answers where it hangs."""

STAND_IN = "sm120kit-rehearsal"
"""What a stand-in calls itself in the header ``server`` of its answers."""

BURST = 4
"""Requests at once at level standard."""


class Wanted(Struct, frozen=True):
    """How servers are verified."""

    level: Level
    thinking: Thinking
    reasoning_parser: str
    arguments: tuple[str, ...]
    limits: Limits


class Told(Struct, frozen=True):
    """What a server tells of itself."""

    settings: Settings
    requested: int | None = None
    granted: int | None = None
    tokens: int | None = None
    context: int | None = None
    page: int = 1
    parser: str = ""
    on_cpu: bool = False
    random_weights: bool = False


class Climb:
    """One server, and what is known of it so far."""

    def __init__(self, subject: Subject, wanted: Wanted, on_verdict: Callable[[int, Verdict], None]) -> None:
        self.subject = subject
        self.wanted = wanted
        self.told = Told(Settings(problem="it was not asked"))
        self.answer = generation.Judged(Verdict("generation", None, "it was not asked"))
        self.verdicts: dict[str, Verdict] = {}
        self.tokens_per_second: float | None = None
        self.roofline_share: float | None = None
        self.memory_used: int | None = None
        self.footprints: tuple[int, ...] = ()
        self.is_stand_in = False
        self._on_verdict = on_verdict
        self._ends = time.monotonic() + wanted.limits.verify

    @property
    def index(self) -> int:
        """The server's number."""
        return self.subject.index

    @property
    def requested(self) -> int | None:
        """How many requests at a time it was asked for: what it says itself where its launch line is not known."""
        return self.told.requested if self.subject.requested is None else self.subject.requested

    @property
    def kind(self) -> str:
        """What must be the same, so that the server can be held against another: GPUs and version."""
        gpus = ", ".join(gpu.name for gpu in self.subject.gpus) or "no known GPU"
        return f"{gpus}; SGLang {self.told.settings.version or 'unknown'}"

    def time_for(self, limit_s: float) -> float:
        """So many seconds, or what is left of the whole verification; never nothing."""
        return max(0.001, min(limit_s, self._ends - time.monotonic()))

    def report(self, verdict: Verdict) -> None:
        """Keep a verdict and tell of it; the first one of a name stays."""
        if verdict.name not in self.verdicts:
            self.verdicts[verdict.name] = verdict
            self._on_verdict(self.index, verdict)

    def ordered(self) -> tuple[Verdict, ...]:
        """All verdicts, from the lowest rung to the highest."""
        return tuple(self.verdicts[name] for name in NAMES if name in self.verdicts)

    async def alone(self, asking: Asking, holders: asyncio.Task[tuple[Holder, ...]] | None) -> None:
        """Ask all that concerns no other server. What the answers are worth beside its sisters' comes later."""
        owner = self._port_owner(holders) if self.subject.root is not None and holders is not None else None
        models = await self._get(asking, "/v1/models")
        why = closed(models, asking, self.subject.root)
        info = Reply(problem="was not asked") if why else await self._get(asking, "/model_info")
        if info.status == 404:
            why = no_sglang(models, info, await self._get(asking, "/server_info"))
        if why:
            if owner is not None:
                await self._guard("port-owner", owner)
            self._is_closed(why)
            return
        telling = asyncio.create_task(self._tell(asking))
        steps = [
            self._guard("model", self._model(models, info)),
            self._guard("concurrency", self._concurrency(telling)),
            self._converse(asking, telling),
        ]
        if owner is not None:
            steps.append(self._guard("port-owner", owner))
        try:
            await asyncio.gather(*steps)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    def _is_closed(self, why: str) -> None:
        """Tell it once; nothing else can be asked."""
        self.report(Verdict("model", False, why))
        for name in asked_at(self.wanted.level):
            self.report(Verdict(name, None, "not tried: nothing can be asked of this server"))

    async def _guard(self, name: str, step: Awaitable[Verdict]) -> None:
        """Report the verdict of one step, whatever becomes of that."""
        self.report(await self.judged(name, step))

    async def judged(self, name: str, step: Awaitable[Verdict]) -> Verdict:
        """The verdict of one step; one that says why there is none, where it fails or takes too long."""
        limit = self.time_for(self.wanted.limits.verify)
        try:
            return await asyncio.wait_for(step, limit)
        except asyncio.TimeoutError:
            return Verdict(name, False, f"was not done within {limit:.3g} s")
        except Exception as error:
            return Verdict(name, None, f"could not be judged: {_what(error)}")

    async def _port_owner(self, holders: asyncio.Task[tuple[Holder, ...]]) -> Verdict:
        root = self.subject.root
        assert root is not None
        found = await asyncio.shield(holders)
        return await asyncio.to_thread(judge_port_owner, self.subject.url, root, found, self.subject.port)

    async def _model(self, models: Reply, info: Reply) -> Verdict:
        self.is_stand_in = STAND_IN in (models.server, info.server)
        return judge_model(self.subject, models, info)

    async def _get(self, asking: Asking, path: str) -> Reply:
        limit = self.time_for(min(INFO_S, self.wanted.limits.answer))
        return await asking.get(self.subject.url, path, limit_s=limit)

    async def _tell(self, asking: Asking) -> None:
        try:
            reply = await self._get(asking, "/server_info")
            self.told = read_told(reply, self.wanted.arguments)
            if self.told.granted is None and not reply.problem:
                loads = await self._get(asking, "/v1/loads")
                granted = read_loads(loads.value, "/v1/loads").granted
                self.told = replace(self.told, granted=granted)
        except Sm120kitError:
            return
        except Exception as error:
            self.told = Told(Settings(problem=f"/server_info cannot be read: {_what(error)}"))

    async def _concurrency(self, telling: asyncio.Task[None]) -> Verdict:
        await asyncio.shield(telling)
        expected = self.subject.expected
        predicted = expected.granted if expected else None
        return judge_concurrency(self.requested, predicted, self.told.granted, self.told.settings.problem)

    async def _converse(self, asking: Asking, telling: asyncio.Task[None]) -> None:
        """One generation after the other: nothing else may run while an answer is to be compared."""
        verdict = await self.judged("generation", self._generation(asking, telling))
        self.answer = replace(self.answer, verdict=verdict)
        if self.wanted.level == "quick":
            return
        if not verdict.passed:
            why = "not tried: it gave no proper answer to a plain question"
            self.report(Verdict("thinking", None, why))
            self.report(Verdict("load", None, why))
            return
        await self._guard("thinking", self._thinking(asking))
        if self.wanted.level == "standard":
            await self._guard("load", self._burst(asking))

    async def _generation(self, asking: Asking, telling: asyncio.Task[None]) -> Verdict:
        self.answer = first = await self._answered(asking, telling)
        if self.wanted.level == "quick" or not first.verdict.passed:
            return first.verdict
        return generation.judge_repeat(first, await self._answered(asking, telling))

    async def _answered(self, asking: Asking, telling: asyncio.Task[None]) -> generation.Judged:
        url, limit = self.subject.url, self.wanted.limits.answer
        asked = await generation.ask(asking, url, limit_s=self.time_for(limit))
        await asyncio.shield(telling)
        judged = generation.judge_answer(asked, random_weights=self.told.random_weights)
        if self.told.random_weights and asked.said is not None and not judged.verdict.passed:
            asked = await generation.ask(asking, url, limit_s=self.time_for(limit), random_weights=True)
            judged = generation.judge_answer(asked, random_weights=True)
        return judged

    async def _thinking(self, asking: Asking) -> Verdict:
        return await verify_thinking(
            asking,
            self.subject.url,
            thinking=self.wanted.thinking,
            parser=self.told.parser or self.wanted.reasoning_parser,
            random_weights=self.told.random_weights,
            context=self.told.context,
            limit_s=self.time_for(self.wanted.limits.answer),
        )

    async def _burst(self, asking: Asking) -> Verdict:
        granted = self.told.granted or 1
        requests = min(BURST, granted)
        limit = self.time_for(self.wanted.limits.answer)
        done = await load.put(asking, self.subject.url, requests, 16, granted=granted, limit_s=limit)
        return load.judge_burst(done, granted)


def read_told(reply: Reply, arguments: Sequence[str]) -> Told:
    """What ``/server_info`` tells."""
    settings = effective_settings(reply.value)
    asked_for = reply.value if isinstance(reply.value, dict) else {}
    return Told(
        settings=read_settings(reply.value, arguments, reply.problem),
        requested=_whole(asked_for.get("max_running_requests")),
        granted=read_granted(reply.value),
        tokens=_whole(settings.get("max_total_num_tokens")),
        context=_whole(settings.get("max_req_input_len")) or _whole(settings.get("context_length")),
        page=_whole(settings.get("page_size")) or 1,
        parser=str(settings.get("reasoning_parser") or ""),
        on_cpu=settings.get("device") == "cpu",
        random_weights=settings.get("load_format") == "dummy",
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _what(error: Exception) -> str:
    return f"{type(error).__name__}: {quoted(str(error))}" if str(error) else type(error).__name__

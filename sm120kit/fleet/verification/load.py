"""load: the concurrency that the server grants is reached, with nothing queued, and every request is answered in full.

As many requests as it grants are put to it at once (at most :data:`MOST_REQUESTS`, and no more than its KV pool holds),
and its own count of what runs and waits is watched meanwhile. Answers that are too short end before all requests run
together, so their length is doubled until they were seen to; SGLang 0.5.23 writes its count down only every 15th step.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from sm120kit.capacity.roofline import LOAD_REQUESTS
from sm120kit.engines.sglang.answers import read_generated
from sm120kit.engines.sglang.endpoints import read_load
from sm120kit.fleet.asking import Asking, Reply
from sm120kit.fleet.types import Struct, Verdict

MOST_REQUESTS = LOAD_REQUESTS
PROMPT_TOKENS = 24
"""No prompt of the probe has more, whatever the tokenizer."""

FIRST_TOKENS = 64
MOST_TOKENS = 4096
_POOL_SHARE = 0.9
"""Of the KV pool that the probe may fill: SGLang admits a request only if its whole length still fits."""

_LOOK_S = 0.05
"""Between two looks at the server's own count."""


class Size(Struct, frozen=True):
    """How much is put to one server at once."""

    requests: int
    limited_by: str = ""
    """What kept it below the number granted; empty = nothing did."""


class Round(Struct, frozen=True):
    """One time that all requests were put to one server."""

    requests: int
    tokens_each: int
    answered: int = 0
    """In full."""
    faults: tuple[str, ...] = ()
    """What was wrong with the others, each kind once."""
    seconds: float = 0
    tokens: int = 0
    most_running: int = 0
    least_waiting: int | None = None
    """While at least as many ran as were put to it; ``None`` = that was never seen."""
    others: int = 0
    """Requests of other clients that ran or waited before."""
    looks: int = 0
    look_problem: str = ""

    @property
    def complete(self) -> bool:
        """Whether every request was answered in full."""
        return self.answered == self.requests

    @property
    def together(self) -> bool:
        """Whether all were seen to run together, with nothing queued that is ours."""
        return self.least_waiting is not None and (self.least_waiting == 0 or self.others > 0)

    @property
    def tokens_per_second(self) -> float | None:
        """Over the whole round, prefill included."""
        return self.tokens / self.seconds if self.complete and self.seconds > 0 else None


def size_of(granted: int, tokens: int | None, page: int, most: int = MOST_REQUESTS) -> Size:
    """How many requests of the probe a server can be asked for at once. ``tokens``: size of its KV pool."""
    wanted = min(granted, most)
    limit = f"the probe asks for at most {most}" if wanted < granted else ""
    if tokens is not None:
        fit = max(1, int(_POOL_SHARE * tokens) // _room(FIRST_TOKENS, page))
        if fit < wanted:
            return Size(fit, f"its KV pool of {tokens} tokens holds {fit} requests of the probe's length")
    return Size(wanted, limit)


def longest(size: Size, tokens: int | None, page: int, context: int | None) -> int:
    """Tokens that each answer can have, as pool and context allow."""
    most = MOST_TOKENS
    if tokens is not None:
        most = min(most, int(_POOL_SHARE * tokens) // size.requests // page * page - PROMPT_TOKENS)
    if context is not None:
        most = min(most, context - PROMPT_TOKENS - 8)
    return max(1, most)


def _room(tokens: int, page: int) -> int:
    return -(-(PROMPT_TOKENS + tokens) // page) * page


async def put(asking: Asking, url: str, requests: int, tokens_each: int, *, granted: int, limit_s: float) -> Round:
    """Put that many requests to one server at once, and watch it until all are answered."""
    others = await _others(asking, url, min(5.0, limit_s))
    watch = _Watch(min(requests, granted))
    watcher = asyncio.create_task(watch.run(asking, url))
    started = time.monotonic()
    try:
        replies = await asyncio.gather(*(_one(asking, url, number, tokens_each, limit_s) for number in range(requests)))
    finally:
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
    seconds = time.monotonic() - started
    counts = [_tokens(reply) for reply in replies]
    faults = [fault for reply in replies if (fault := _fault(reply, tokens_each))]
    return Round(
        requests=requests,
        tokens_each=tokens_each,
        answered=requests - len(faults),
        faults=tuple(dict.fromkeys(faults)),
        seconds=seconds,
        tokens=sum(counts),
        most_running=watch.most_running,
        least_waiting=watch.least_waiting,
        others=max(others, watch.most_running - requests),
        looks=watch.looks,
        look_problem=watch.problem,
    )


async def _others(asking: Asking, url: str, limit_s: float) -> int:
    """Requests that the server has though none is ours. What it counts may lag behind, so that it is asked again."""
    count = 0
    for pause in (0.0, 0.1, 0.3):
        await asyncio.sleep(pause)
        load = read_load((await asking.get(url, "/v1/loads", limit_s=limit_s)).value)
        count = load.running + load.waiting if load else 0
        if not count:
            break
    return count


async def _one(asking: Asking, url: str, number: int, tokens: int, limit_s: float) -> Reply:
    """A request that shares no beginning with the others, which would let them share a part of the KV pool."""
    question = {
        "text": f"{number:03d} bottles on the wall",
        "sampling_params": {"max_new_tokens": tokens, "ignore_eos": True, "temperature": 0},
    }
    return await asking.post(url, "/generate", question, limit_s=limit_s)


class _Watch:
    """Looks at a server's count of its requests until it is cancelled, or has seen all of them run together."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self.most_running = 0
        self.least_waiting: int | None = None
        self.looks = 0
        self.problem = ""

    async def run(self, asking: Asking, url: str) -> None:
        while self.least_waiting != 0:
            reply = await asking.get(url, "/v1/loads", limit_s=5)
            load = read_load(reply.value)
            if load is None:
                self.problem = f"/v1/loads {reply.problem or 'does not tell how many requests run'}"
            else:
                self.looks += 1
                self.most_running = max(self.most_running, load.running)
                if load.running >= self._wanted:
                    waiting = self.least_waiting
                    self.least_waiting = load.waiting if waiting is None else min(waiting, load.waiting)
            await asyncio.sleep(_LOOK_S)


def _tokens(reply: Reply) -> int:
    said = read_generated(reply.value)
    return said.tokens or 0 if said else 0


def _fault(reply: Reply, tokens_each: int) -> str:
    """What is wrong with one answer; empty where nothing is."""
    if reply.problem:
        return f"/generate {reply.problem}"
    said = read_generated(reply.value)
    if said is None:
        return "/generate answers as no SGLang does"
    if said.tokens != tokens_each:
        return f"{said.tokens} of {tokens_each} tokens were generated (finish_reason {said.finish_reason or 'none'})"
    return ""


def next_length(done: Round, most_tokens: int, limit_s: float) -> int | None:
    """How long answers must be in the next round; ``None`` = there is none: all was seen, or longer ones do not fit."""
    if (
        done.together
        or not done.complete
        or not done.looks
        or done.tokens_each >= most_tokens
        or 2 * done.seconds > limit_s
    ):
        return None
    return min(2 * done.tokens_each, most_tokens)


def judge_load(granted: int, size: Size, rounds: Sequence[Round]) -> Verdict:
    """From all rounds that one server took part in; the last one counts."""
    last = rounds[-1]
    what = f"{last.requests} requests of {last.tokens_each} tokens at once"
    if not last.complete:
        kinds = "; ".join(last.faults[:3])
        return _verdict(False, f"{last.requests - last.answered} of {what} failed: {kinds}")
    others = f"; {last.others} requests of other clients ran or waited besides" if last.others else ""
    if not last.together:
        if last.looks == 0:
            return _verdict(False, f"{what} were answered, and how many ran together is not known: {last.look_problem}")
        queued = f", {last.least_waiting} still queued" if last.least_waiting else ""
        return _verdict(False, f"of {what}, {last.most_running} were seen to run together{queued}{others}")
    beyond = f"; it grants {granted}: {size.limited_by}" if size.limited_by else ""
    return _verdict(True, f"{what} ran together with none queued, all answered in full in "
                          f"{last.seconds:.2f} s{beyond}{others}")  # fmt: skip


def judge_burst(done: Round, granted: int) -> Verdict:
    """A few requests at once, at level standard."""
    if not done.complete:
        return _verdict(False, f"{done.requests - done.answered} of {done.requests} requests at once failed: "
                               f"{'; '.join(done.faults[:3])}")  # fmt: skip
    return _verdict(True, f"{done.requests} requests at once, each answered in full; that {granted} run together, "
                          "only level load shows")  # fmt: skip


def _verdict(passed: bool, evidence: str) -> Verdict:
    return Verdict("load", passed, evidence)

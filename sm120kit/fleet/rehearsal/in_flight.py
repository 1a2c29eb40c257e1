"""Requests that a stand-in was sent and did not answer yet: handed to the scheduler, told of its progress, drained."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from sm120kit.fleet.rehearsal.channel import HEALTH, Channel

Progress = Callable[[int], None]
"""Told how many tokens there are by now."""


class InFlight:
    """All of them, by their id."""

    def __init__(self) -> None:
        self.channel: Channel | None = None
        self.last_received = 0.0
        """When the scheduler last told anything (seconds since the epoch)."""
        self.abandoned: set[str] = set()
        """Ids that 0.5.12 keeps for ever: those of requests that were too long."""
        self._open: dict[str, tuple[int, Progress | None, Progress]] = {}
        self._questions: dict[int, Callable[[dict[str, Any]], None]] = {}
        self._number = 0

    def rids(self) -> list[str]:
        """Ids of what is still to be answered."""
        return [*self._open, *self.abandoned]

    def new_rid(self) -> str:
        """An id of 32 hexadecimal digits, as SGLang's are."""
        self._number += 1
        return f"{time.time_ns():024x}{self._number:08x}"

    def generate(self, rid: str, prompt: int, tokens: int, progress: Progress | None, done: Progress) -> None:
        """Have ``tokens`` tokens made; ``progress`` is told along the way where it is given."""
        self._open[rid] = (tokens, progress, done)
        self._send({"do": "generate", "rid": rid, "prompt": prompt, "tokens": tokens, "stream": progress is not None})

    def generate_all(self, sizes: Sequence[tuple[int, int]], done: Callable[[], None]) -> list[str]:
        """Several at once, each with tokens of prompt and of answer; ``done`` when the last of them is."""
        left = len(sizes)

        def one(_made: int) -> None:
            nonlocal left
            left -= 1
            if not left:
                done()

        rids = [self.new_rid() for _ in sizes]
        for rid, (prompt, tokens) in zip(rids, sizes, strict=True):
            self.generate(rid, prompt, tokens, None, one)
        return rids

    def probe(self) -> str:
        """One token, for a health check; what becomes of it shows in ``last_received``."""
        rid = f"{HEALTH}_{time.time()}"
        self.generate(rid, 1, 1, None, lambda _made: None)
        return rid

    def abort(self, *rids: str) -> None:
        """Nobody waits for these any more."""
        for rid in rids:
            if self._open.pop(rid, None):
                self._send({"do": "abort", "rid": rid})

    def ask(self, what: str, answered: Callable[[dict[str, Any]], None]) -> None:
        """Ask the scheduler; there is no limit, as SGLang has none."""
        self._number += 1
        self._questions[self._number] = answered
        self._send({"do": what, "id": self._number})

    def tell(self, what: str) -> None:
        """Tell the scheduler something that has no answer."""
        self._send({"do": what})

    def told(self, message: dict[str, Any]) -> None:
        """A message of the scheduler."""
        self.last_received = time.time()
        if "answer" in message:
            self._questions.pop(message["answer"])(message)
            return
        for rid, made in message.get("progress", ()):
            if rid in self._open and (progress := self._open[rid][1]):
                progress(made)
        for rid in message.get("done", ()):
            if rid in self._open:
                tokens, _, done = self._open.pop(rid)
                done(tokens)

    def _send(self, message: dict[str, Any]) -> None:
        if self.channel:
            self.channel.send(message)

"""The running batch and the queue behind it: how many tokens each request has by now. Pure; moments are seconds."""

from __future__ import annotations

from collections import deque

FIRST = 20_000
"""Tokens of prompts read per second before the first token comes."""


class Generation:
    """One request."""

    __slots__ = ("begun", "prompt", "rid", "stream", "tokens", "told")

    def __init__(self, rid: str, prompt: int, tokens: int, *, stream: bool) -> None:
        self.rid, self.prompt, self.tokens, self.stream = rid, prompt, tokens, stream
        self.begun = 0.0
        """When its first token is there."""
        self.told = 0

    def made(self, now: float, speed: float) -> int:
        """Tokens there are by now, ``speed`` tokens a second."""
        if now < self.begun:
            return 0
        return min(self.tokens, 1 + int((now - self.begun) * speed + 1e-6))

    def end(self, speed: float) -> float:
        """When the last token is there."""
        return self.begun + (self.tokens - 1) / speed


class Batch:
    """Requests that run, at most ``granted``, and those that wait."""

    def __init__(self, granted: int, tokens: int, speed: float) -> None:
        self.granted, self.tokens, self.speed = granted, tokens, speed
        self.running: dict[str, Generation] = {}
        self.waiting: deque[Generation] = deque()
        self._reserved = 0
        self._finished_tokens = 0

    def submit(self, generation: Generation) -> None:
        """Put a request at the end of the queue."""
        self.waiting.append(generation)

    def abort(self, rid: str) -> None:
        """Forget a request, wherever it is."""
        gone = self.running.pop(rid, None)
        if gone:
            self._reserved -= gone.prompt + gone.tokens
        else:
            self.waiting = deque(each for each in self.waiting if each.rid != rid)

    def finish(self, now: float) -> list[Generation]:
        """Take out those that have all their tokens."""
        done = [each for each in self.running.values() if each.end(self.speed) <= now]
        for each in done:
            self.abort(each.rid)
            self._finished_tokens += each.tokens
        return done

    def admit(self, now: float) -> list[Generation]:
        """Start those that there is room for, in their order."""
        begun: list[Generation] = []
        read = 0
        while self.waiting and len(self.running) < self.granted:
            each = self.waiting[0]
            size = each.prompt + each.tokens
            if self.running and self._reserved + size > self.tokens:
                break
            self.waiting.popleft()
            read += each.prompt
            each.begun = now + read / FIRST + 1 / self.speed
            self._reserved += size
            self.running[each.rid] = each
            begun.append(each)
        return begun

    def next_end(self) -> float | None:
        """When the next request has all its tokens."""
        return min((each.end(self.speed) for each in self.running.values()), default=None)

    def progress(self, now: float) -> list[tuple[str, int]]:
        """Streamed requests that have more tokens than were told, and how many."""
        found = []
        for each in self.running.values():
            if each.stream and (made := each.made(now, self.speed)) > each.told:
                each.told = made
                found.append((each.rid, made))
        return found

    def made(self, now: float) -> int:
        """Tokens made since the start, of finished and running requests."""
        return self._finished_tokens + sum(each.made(now, self.speed) for each in self.running.values())

    def used(self, now: float) -> int:
        """Tokens that the pool holds for what runs."""
        return sum(each.prompt + each.made(now, self.speed) for each in self.running.values())

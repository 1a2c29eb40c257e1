"""One answer piece by piece, as server-sent events; of several prompts the first one's."""

from __future__ import annotations

import json
from typing import Any

from sm120kit.fleet.rehearsal.generation import Asked, Generator

DONE = b"data: [DONE]\n\n"


class Stream:
    """One streamed answer."""

    def __init__(self, generator: Generator, asked: Asked, rid: str, began: float) -> None:
        self.generator, self.asked, self.rid, self.began = generator, asked, rid, began
        self.job = asked.jobs[0]
        self.chat = asked.path == "/v1/chat/completions"
        self._thought = self._answer = ""

    def begin(self) -> bytes:
        """What comes before the first token."""
        if not self.chat:
            return b""
        return self._chunk({"reasoning_content": None, "role": "assistant", "content": ""})

    def grown(self, made: int) -> bytes:
        """What ``made`` tokens add to what was told."""
        if self.asked.path == "/generate":
            return _event(self.generator.native(self.job, self.rid, made, self.began))
        aloud = self.chat and self.job.thinks_aloud
        thought = self.job.text.thinking(made) if aloud else ""
        answer = self.job.text.answer(made) if aloud else self.job.written(made)
        more_thought, more_answer = thought[len(self._thought) :], answer[len(self._answer) :]
        self._thought, self._answer = thought, answer
        if not self.chat:
            last = made == self.job.text.tokens
            return self._text(more_answer, self.job.reason if last else None)
        told = self._chunk({"reasoning_content": more_thought}) if more_thought else b""
        if more_answer:
            told += self._chunk({"reasoning_content": None, "content": more_answer})
        return told

    def end(self) -> bytes:
        """What comes after the last token."""
        last = self._chunk({"reasoning_content": None}, self.job.reason) if self.chat else b""
        options = self.asked.body.get("stream_options")
        if isinstance(options, dict) and options.get("include_usage") and self.asked.path != "/generate":
            usage = self.generator.usage(self.asked)
            if not self.chat:
                usage = {name: value for name, value in usage.items() if value is not None}
            last += _event({**self._head(), "choices": [], "usage": usage})
        return last + DONE

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason, "matched_stop": None}
        return _event({**self._head(), "choices": [choice]})

    def _text(self, text: str, reason: str | None) -> bytes:
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason, "matched_stop": None}
        return _event({**self._head(), "choices": [choice], "usage": None})

    def _head(self) -> dict[str, Any]:
        return {
            "id": self.rid,
            "object": "chat.completion.chunk" if self.chat else "text_completion",
            "created": int(self.began),
            "model": self.asked.body.get("model") or self.generator.answers.served,
        }


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"

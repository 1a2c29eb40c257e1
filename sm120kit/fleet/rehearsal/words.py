"""What a stand-in answers: words that depend on the question alone, so that sisters answer alike, and that say what
they are. One word is one token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from zlib import crc32

FIRST = "rehearsal"
"""The first word of every answer and of every thought."""

_WORDS = ("this", "text", "was", "made", "by", "a", "stand-in", "and", "by", "no", "model", "so", "it", "means",
          "nothing", "at", "all")  # fmt: skip

THOUGHT = 12
ANSWER = 16
"""Tokens of a thought and of an answer that are not cut short."""


class Text(NamedTuple):
    """One whole answer."""

    thought: int
    """Tokens of its thinking."""
    tokens: int
    """All tokens."""
    ended: bool
    """It came to its end; else it was cut at its limit."""
    seed: int
    garbled: bool = False

    def thinking(self, made: int) -> str:
        """The thinking as far as ``made`` tokens reach."""
        return _words(self.seed, min(made, self.thought), garbled=False)

    def answer(self, made: int) -> str:
        """The answer as far as ``made`` tokens reach."""
        return _words(self.seed, max(0, made - self.thought), garbled=self.garbled)


def tokens_of(text: str) -> int:
    """How many tokens a prompt counts: about four bytes each, as a model's tokenizer has it."""
    return max(1, (len(text.encode("utf-8", "replace")) + 3) // 4)


def seed_of(prompt: str) -> int:
    """What the answer to a prompt depends on."""
    return crc32(prompt.encode("utf-8", "replace"))


def plan_text(seed: int, limit: int, *, thinks: bool, endless: bool, garbled: bool) -> Text:
    """The answer within ``limit`` tokens; ``endless`` = it goes on to that limit (``ignore_eos``)."""
    thought = THOUGHT if thinks else 0
    natural = thought + ANSWER
    tokens = limit if endless else min(limit, natural)
    return Text(min(thought, tokens), tokens, not endless and natural <= limit, seed, garbled)


def prompt_of(messages: Sequence[Any]) -> str:
    """The words of a conversation.

    Raises:
        ValueError: these are no messages.
    """
    found: list[str] = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise ValueError("a message has a role and a content")
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content or ""}]
        found += [f"{message['role']}:", *(str(part.get("text", "")) for part in parts if isinstance(part, dict))]
    return "\n".join(found)


def _words(seed: int, count: int, *, garbled: bool) -> str:
    if count <= 0:
        return ""
    if garbled:
        return FIRST + "!" * (count - 1)
    rest = (_WORDS[(seed + each) % len(_WORDS)] for each in range(count - 1))
    return " ".join((FIRST, *rest))

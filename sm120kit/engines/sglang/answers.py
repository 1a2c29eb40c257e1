"""Reads what a running SGLang generated: chat completions, plain completions, ``/generate``."""

from __future__ import annotations

from typing import Any

import msgspec

DONE = ("stop", "length")
"""The ways in which a generation ends well."""


class Said(msgspec.Struct, frozen=True):
    """One generation."""

    text: str
    reasoning: str = ""
    """``reasoning_content``: what a reasoning parser took out of the text."""
    tokens: int | None = None
    """Generated, as the server counts; ``None`` = it does not say."""
    finish_reason: str = ""

    @property
    def cut_off(self) -> bool:
        """Whether the budget of tokens was used up before it came to its end."""
        return self.finish_reason == "length"


def read_chat(answer: object) -> Said | None:
    """The first choice of ``/v1/chat/completions``; ``None`` where this is no answer of that kind."""
    choice = _first_choice(answer)
    message = choice.get("message")
    if not isinstance(message, dict):
        return None
    return Said(
        _text(message.get("content")),
        _text(message.get("reasoning_content")),
        _completion_tokens(answer, "usage"),
        _text(choice.get("finish_reason")),
    )


def read_completion(answer: object) -> Said | None:
    """The first choice of ``/v1/completions``; ``None`` where this is no answer of that kind."""
    choice = _first_choice(answer)
    if not isinstance(choice.get("text"), str):
        return None
    tokens = _completion_tokens(answer, "usage")
    return Said(_text(choice["text"]), "", tokens, _text(choice.get("finish_reason")))


def read_generated(answer: object) -> Said | None:
    """The answer of ``/generate``; ``None`` where this is none."""
    if not isinstance(answer, dict) or not isinstance(answer.get("meta_info"), dict):
        return None
    reason = answer["meta_info"].get("finish_reason")
    ended = reason.get("type") if isinstance(reason, dict) else reason
    return Said(_text(answer.get("text")), "", _completion_tokens(answer, "meta_info"), _text(ended))


def _first_choice(answer: object) -> dict[str, Any]:
    choices = answer.get("choices") if isinstance(answer, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _completion_tokens(answer: object, part: str) -> int | None:
    usage = answer.get(part) if isinstance(answer, dict) else None
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

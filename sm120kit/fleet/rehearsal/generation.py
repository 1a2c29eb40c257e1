"""``/generate``, ``/v1/completions`` and ``/v1/chat/completions``: what is asked for, and the answers' bodies."""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple

from sm120kit.fleet.rehearsal.answers import Answers
from sm120kit.fleet.rehearsal.words import Text, plan_text, prompt_of, seed_of, tokens_of

_DEPTH = 6
_DEFAULT = {"/generate": 128, "/v1/completions": 16}
"""Tokens where a request does not say; a chat goes on to the end of the context."""


class RefusedError(Exception):
    """The request cannot be served: HTTP 400."""

    def __init__(self, message: str, *, too_long: bool = False) -> None:
        super().__init__(message)
        self.too_long = too_long


class Job(NamedTuple):
    """One answer to make."""

    prompt: int
    """Tokens."""
    text: Text
    thinks_aloud: bool
    """The thinking goes into ``reasoning_content``; else it stands in the answer between its tags."""


class Asked(NamedTuple):
    """One request."""

    path: str
    body: dict[str, Any]
    jobs: tuple[Job, ...]
    many: bool
    """The request holds a list of prompts."""

    @property
    def stream(self) -> bool:
        """Piece by piece."""
        return bool(self.body.get("stream"))


class Generator:
    """Reads requests and words answers for one server."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.profile = answers.profile

    def read(self, path: str, body: Any) -> Asked:
        """What a request asks for.

        Raises:
            RefusedError: it cannot be served.
        """
        if not isinstance(body, dict):
            raise RefusedError("the body of a request is a JSON object")
        if path == "/v1/chat/completions":
            prompts, many = [self._conversation(body)], False
        else:
            given = body.get("prompt") if path == "/v1/completions" else body.get("text", body.get("input_ids"))
            each_one = given if isinstance(given, list) and given and not isinstance(given[0], int) else [given]
            many = each_one is given
            prompts = [self._prompt(each) for each in each_one]
        return Asked(path, body, tuple(self._job(path, body, *prompt) for prompt in prompts), many)

    def _conversation(self, body: dict[str, Any]) -> tuple[int, int]:
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise RefusedError(
                "1 validation error:\n  {'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required'}"
            )
        try:
            prompt = prompt_of(messages)
        except ValueError as error:
            raise RefusedError(str(error)) from error
        return tokens_of(prompt), seed_of(prompt)

    def _prompt(self, given: Any) -> tuple[int, int]:
        """Tokens of a prompt, and what the answer depends on."""
        if isinstance(given, str):
            return tokens_of(given), seed_of(given)
        if isinstance(given, list) and given and all(isinstance(each, int) for each in given):
            return len(given), seed_of(repr(given))
        raise RefusedError("a prompt is text or a list of token ids")

    def _job(self, path: str, body: dict[str, Any], prompt: int, seed: int) -> Job:
        sampling = body.get("sampling_params") if path == "/generate" else body
        sampling = sampling if isinstance(sampling, dict) else {}
        names = ("max_new_tokens",) if path == "/generate" else ("max_completion_tokens", "max_tokens")
        context = self.profile.context
        if prompt >= context - _DEPTH:
            raise RefusedError(
                f"The input ({prompt} tokens) is longer than the model's context length ({context} tokens).",
                too_long=True,
            )
        limit = next((sampling[name] for name in names if isinstance(sampling.get(name), int)), _DEFAULT.get(path))
        most = context - prompt - 1
        if limit is None:
            limit = most
        if limit < 1:
            raise RefusedError(f"max_new_tokens must be at least 1, got {limit}.")
        if prompt + limit > context:
            raise RefusedError(
                f"Requested token count exceeds the model's maximum context length of {context} tokens. You requested "
                f"a total of {prompt + limit} tokens: {prompt} tokens from the input messages and {limit} tokens for "
                "the completion. Please reduce the number of tokens in the input messages or the completion to fit "
                "within the limit.",
                too_long=True,
            )
        thinks = path == "/v1/chat/completions" and self._thinks(body)
        text = plan_text(
            seed,
            min(limit, self.profile.tokens),
            thinks=thinks and "empty-reasoning" not in self.profile.faults,
            endless=bool(sampling.get("ignore_eos")),
            garbled="wrong-text" in self.profile.faults,
        )
        aloud = (
            bool(self.answers.settings.get("reasoning_parser")) and body.get("separate_reasoning", True) is not False
        )
        return Job(prompt, text, aloud)

    def _thinks(self, body: dict[str, Any]) -> bool:
        template = body.get("chat_template_kwargs")
        asked = template.get("enable_thinking", template.get("thinking")) if isinstance(template, dict) else None
        return self.profile.thinking if asked is None else bool(asked)

    def whole(self, asked: Asked, rids: list[str], began: float) -> Any:
        """The answer, when all of it is there."""
        if asked.path == "/generate":
            outs = [self._native(job, rid, job.text.tokens, began) for job, rid in zip(asked.jobs, rids, strict=True)]
            return outs if asked.many else outs[0]
        chat = asked.path == "/v1/chat/completions"
        choices = [self._choice(number, job, chat=chat) for number, job in enumerate(asked.jobs)]
        return {
            "id": rids[0],
            "object": "chat.completion" if chat else "text_completion",
            "created": int(time.time()),
            "model": asked.body.get("model") or self.answers.served,
            "choices": choices,
            "usage": self._usage(asked),
            "metadata": {"weight_version": self.answers.settings.get("weight_version") or "default"},
        }

    def _choice(self, number: int, job: Job, *, chat: bool) -> dict[str, Any]:
        made = job.text.tokens
        found: dict[str, Any] = {
            "index": number,
            "logprobs": None,
            "finish_reason": "stop" if job.text.ended else "length",
            "matched_stop": 0 if job.text.ended else None,
        }
        if not chat:
            return found | {"text": self._written(job, made)}
        message: dict[str, Any] = {"role": "assistant"}
        if job.thinks_aloud:
            message |= {"content": job.text.answer(made), "reasoning_content": job.text.thinking(made) or None}
        else:
            message |= {"content": self._written(job, made), "reasoning_content": None}
        if not self.answers.new:
            message["tool_calls"] = None
        return found | {"message": message}

    def _written(self, job: Job, made: int) -> str:
        """Thinking and answer as the model writes them, one after the other."""
        if not job.text.thought:
            return job.text.answer(made)
        closed = f"\n</think>\n\n{job.text.answer(made)}" if made > job.text.thought else ""
        return f"<think>\n{job.text.thinking(made)}{closed}"

    def _usage(self, asked: Asked) -> dict[str, Any]:
        read, made = sum(job.prompt for job in asked.jobs), sum(job.text.tokens for job in asked.jobs)
        thought = sum(job.text.thought for job in asked.jobs if job.thinks_aloud)
        found: dict[str, Any] = {
            "prompt_tokens": read,
            "total_tokens": read + made,
            "completion_tokens": made,
            "prompt_tokens_details": None,
            "reasoning_tokens": thought,
        }
        if self.answers.new:
            found["completion_tokens_details"] = {"reasoning_tokens": thought} if thought else None
        return found

    def _native(self, job: Job, rid: str, made: int, began: float) -> dict[str, Any]:
        ended = made == job.text.tokens
        reason = {"type": "stop", "matched": 0} if job.text.ended else {"type": "length", "length": made}
        return {
            "text": self._written(job, made),
            "output_ids": list(range(1, made + 1)),
            "meta_info": {
                "id": rid,
                "finish_reason": reason if ended else None,
                "prompt_tokens": job.prompt,
                "weight_version": self.answers.settings.get("weight_version") or "default",
                "total_retractions": 0,
                "completion_tokens": made,
                "cached_tokens": 0,
                "e2e_latency": time.time() - began,
            },
        }

    def stream(self, asked: Asked, rid: str, began: float) -> Stream:
        """The answer piece by piece; of several prompts the first one."""
        return Stream(self, asked, rid, began)


class Stream:
    """One streamed answer."""

    def __init__(self, generator: Generator, asked: Asked, rid: str, began: float) -> None:
        self.generator, self.asked, self.rid, self.began = generator, asked, rid, began
        self.job = asked.jobs[0]
        self._told = ("", "")

    def begin(self) -> bytes:
        """What comes before the first token."""
        if self.asked.path != "/v1/chat/completions":
            return b""
        return self._event(self._chunk({"role": "assistant", "content": ""}))

    def grown(self, made: int) -> bytes:
        """What ``made`` tokens add to what was told."""
        if self.asked.path == "/generate":
            return self._event(self.generator._native(self.job, self.rid, made, self.began))
        chat = self.asked.path == "/v1/chat/completions"
        if chat and self.job.thinks_aloud:
            now = (self.job.text.thinking(made), self.job.text.answer(made))
        else:
            now = ("", self.generator._written(self.job, made))
        thought, answer = now[0][len(self._told[0]) :], now[1][len(self._told[1]) :]
        self._told = now
        events = []
        if thought:
            events.append(self._event(self._chunk({"reasoning_content": thought})))
        if answer:
            events.append(self._event(self._chunk({"content": answer} if chat else {"text": answer})))
        return b"".join(events)

    def end(self) -> bytes:
        """What comes after the last token."""
        done = b"data: [DONE]\n\n"
        if self.asked.path == "/generate":
            return done
        reason = "stop" if self.job.text.ended else "length"
        last = self._event(self._chunk({} if self.asked.path == "/v1/chat/completions" else {"text": ""}, reason))
        options = self.asked.body.get("stream_options")
        if isinstance(options, dict) and options.get("include_usage"):
            chunk = self._chunk({}) | {"choices": [], "usage": self.generator._usage(self.asked)}
            last += self._event(chunk)
        return last + done

    def _chunk(self, told: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        chat = self.asked.path == "/v1/chat/completions"
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": reason, "matched_stop": None}
        if chat:
            blank = {"role": None, "content": None, "reasoning_content": None, "tool_calls": None}
            choice["delta"] = blank | told
        else:
            choice |= told
        return {
            "id": self.rid,
            "object": "chat.completion.chunk" if chat else "text_completion",
            "created": int(self.began),
            "model": self.asked.body.get("model") or self.generator.answers.served,
            "choices": [choice],
            "usage": None,
        }

    def _event(self, data: dict[str, Any]) -> bytes:
        return b"data: " + json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"

"""``/generate``, ``/v1/completions`` and ``/v1/chat/completions``: what is asked for, and the answers' bodies."""

from __future__ import annotations

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

    @property
    def reason(self) -> str:
        """``finish_reason``."""
        return "stop" if self.text.ended else "length"

    def written(self, made: int) -> str:
        """Thinking and answer as the model writes them, one after the other, as far as ``made`` tokens reach."""
        if not self.text.thought:
            return self.text.answer(made)
        closed = f"\n</think>\n\n{self.text.answer(made)}" if made > self.text.thought else ""
        return f"<think>\n{self.text.thinking(made)}{closed}"


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
            outs = [self.native(job, rid, job.text.tokens, began) for job, rid in zip(asked.jobs, rids, strict=True)]
            return outs if asked.many else outs[0]
        chat = asked.path == "/v1/chat/completions"
        choices = [self._choice(number, job, chat=chat) for number, job in enumerate(asked.jobs)]
        return {
            "id": rids[0],
            "object": "chat.completion" if chat else "text_completion",
            "created": int(time.time()),
            "model": asked.body.get("model") or self.answers.served,
            "choices": choices,
            "usage": self.usage(asked),
            "metadata": self.weights(asked.jobs[0].text.tokens),
        }

    def _choice(self, number: int, job: Job, *, chat: bool) -> dict[str, Any]:
        made = job.text.tokens
        found: dict[str, Any] = {
            "index": number,
            "logprobs": None,
            "finish_reason": job.reason,
            "matched_stop": 0 if job.text.ended else None,
        }
        if not chat:
            return found | {"text": job.written(made)}
        answer = job.text.answer(made) if job.thinks_aloud else job.written(made)
        message: dict[str, Any] = {
            "role": "assistant",
            # 0.5.12 says null where all tokens went into the thinking.
            "content": answer if answer or self.answers.new else None,
            "reasoning_content": (job.text.thinking(made) or None) if job.thinks_aloud else None,
        }
        if not self.answers.new:
            message["tool_calls"] = None
        return found | {"message": message}

    def usage(self, asked: Asked) -> dict[str, Any]:
        """Tokens of all of a request."""
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

    def weights(self, made: int) -> dict[str, Any]:
        """Which weights made how many tokens."""
        version = self.answers.settings.get("weight_version") or "default"
        told: dict[str, Any] = {"weight_version": version}
        if self.answers.new:
            told["weight_versions"] = [{"version": version, "start": 0, "end": made}]
        return told

    def native(self, job: Job, rid: str, made: int, began: float) -> dict[str, Any]:
        """The answer of /generate as far as ``made`` tokens reach."""
        now, ended = time.time(), made == job.text.tokens
        reason = {"type": "stop", "matched": 0} if job.text.ended else {"type": "length", "length": made}
        told: dict[str, Any] = {
            "id": rid,
            "finish_reason": reason if ended else None,
            "prompt_tokens": job.prompt,
            "weight_version": self.answers.settings.get("weight_version") or "default",
            "num_retractions": 0,
            "queue_time": 0.0,
            "reasoning_tokens": 0,
            "completion_tokens": made,
            "cached_tokens": 0,
            "cached_tokens_details": None,
            "dp_rank": None,
        }
        if self.answers.new:
            told |= {"storage_prefetch_wait": 0.0, "storage_staging_wait": 0.0}
            told |= {"forward_entry_time": began, "prefill_finished_time": began}
        if ended:
            told |= {
                "e2e_latency": now - began,
                "request_received_ts": began,
                "api_server_dispatch_finish_ts": began,
                "request_finished_ts": now,
                "decode_throughput": made / max(now - began, 1e-6),
                "response_sent_to_client_ts": now,
            }
            if self.answers.new:
                told |= {**self.weights(made), "first_token_latency": 1 / self.profile.tokens_per_second}
        return {"text": job.written(made), "output_ids": list(range(1, made + 1)), "meta_info": told}

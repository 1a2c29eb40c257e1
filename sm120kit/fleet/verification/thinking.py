"""thinking: a model that is to think does, in a field of its own, and its answer is not lost to it; one that is not to
think does not.
"""

from __future__ import annotations

import re

from sm120kit.engines.sglang.answers import Said, read_chat
from sm120kit.fleet.asking import Asking
from sm120kit.fleet.spec import Thinking
from sm120kit.fleet.types import Verdict
from sm120kit.fleet.verification.wording import quoted

QUESTION = "Which number is larger, 17 times 3 or 7 times 7? Answer with that number."
BUDGETS = (1024, 4096)
"""Tokens: the second one where the first was used up before the answer began."""

_NO_PARSER = (
    "thinking is asked for and the server has no reasoning parser, so that what the model thinks stands in its answer. "
    "Add --reasoning-parser for this model, such as qwen3"
)

_TAG = re.compile(r"</?think(?:ing)?>|<\|channel\|>", re.IGNORECASE)


async def verify_thinking(
    asking: Asking,
    url: str,
    *,
    thinking: Thinking,
    parser: str,
    random_weights: bool,
    context: int | None,
    limit_s: float,
) -> Verdict:
    """Ask with thinking switched on, or off, as the server is meant to be used. ``context``: tokens that it takes."""
    on = thinking == "on" or (thinking == "auto" and bool(parser))
    if thinking == "auto" and not parser:
        return _verdict(None, "not asked for: no reasoning parser is set up, and thinking is neither on nor ruled out")
    if on and not parser:
        return _verdict(False, _NO_PARSER)
    if random_weights:
        return _verdict(None, "the weights are random (load_format dummy): nothing that they say can be told apart")
    said: Said | None = None
    budget = 0
    for budget in _budgets(context):
        body = {
            "model": "default",
            "temperature": 0,
            "max_tokens": budget,
            "messages": [{"role": "user", "content": QUESTION}],
            "chat_template_kwargs": {"enable_thinking": on},
        }
        reply = await asking.post(url, "/v1/chat/completions", body, limit_s=limit_s)
        if reply.problem:
            return _verdict(False, f"with thinking {'on' if on else 'off'}, /v1/chat/completions {reply.problem}")
        said = read_chat(reply.value)
        if said is None:
            return _verdict(False, "/v1/chat/completions answers as no SGLang does")
        if not (on and said.cut_off):
            break
    assert said is not None
    return judge_on(said, parser, budget) if on else judge_off(said)


def _budgets(context: int | None) -> tuple[int, ...]:
    """Budgets that leave room for the question."""
    most = max(64, (context or 1 << 20) // 2)
    return tuple(dict.fromkeys(min(each, most) for each in BUDGETS))


def judge_on(said: Said, parser: str, budget: int) -> Verdict:
    """An answer with thinking on."""
    ended = f"(finish_reason {said.finish_reason or 'none'})"
    if _TAG.search(said.text):
        return _verdict(
            False,
            f"the answer holds marks of thinking: {quoted(said.text)}. "
            f"The reasoning parser {parser} does not fit this model",
        )
    if not said.reasoning.strip():
        return _verdict(
            False,
            f"reasoning_content is empty though thinking is on; the answer is {quoted(said.text)} {ended}. "
            f"The reasoning parser {parser} or the chat template does not fit this model",
        )
    if not said.text.strip():
        lost = f"used up its budget of {budget} tokens" if said.cut_off else "did not come to an answer"
        return _verdict(False, f"the answer was lost to thinking, which {lost}: {quoted(said.reasoning)} {ended}")
    if said.finish_reason != "stop":
        return _verdict(False, f"the answer {quoted(said.text)} was not finished within {budget} tokens {ended}")
    thought = f"{len(said.reasoning)} characters of reasoning_content"
    return _verdict(True, f"{thought}, then the answer {quoted(said.text, 60)}, {said.tokens} tokens in all")


def judge_off(said: Said) -> Verdict:
    """An answer with thinking off."""
    if said.reasoning.strip():
        return _verdict(False, f"it thinks though thinking is off: reasoning_content is {quoted(said.reasoning)}")
    if _TAG.search(said.text):
        return _verdict(False, f"the answer holds marks of thinking though thinking is off: {quoted(said.text)}")
    if not said.text.strip():
        return _verdict(False, f"the answer is empty with thinking off (finish_reason {said.finish_reason or 'none'})")
    return _verdict(True, f"off, as asked: no reasoning_content, the answer is {quoted(said.text, 60)}")


def _verdict(passed: bool | None, evidence: str) -> Verdict:
    return Verdict("thinking", passed, evidence)

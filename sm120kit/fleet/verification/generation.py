"""generation: the server answers a plain question, in the way in which its sisters answer it.

The question is put while nothing else runs (batch size 1) and at temperature 0. On like GPUs, with like settings, the
same kernels then do the same arithmetic, and the texts are the same; yet not always: FlashInfer's autotuning picks
kernels by the clock, on each GPU for itself, and sums in another order can turn two words round that the model holds
nearly equal. That shows some way into the text, and is reported, not held against anybody. What is broken (other
weights, a bad card, a kernel that computes rubbish) differs from the first words on: that fails. Where all sisters are
broken alike they agree, so an answer must stand by itself too: one that only repeats one word or character fails, as
kernels that compute NaN give it (``!!!!``). Random weights (load_format dummy) may do so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from sm120kit.engines.sglang.answers import DONE, Said, read_chat, read_completion
from sm120kit.fleet.asking import Asking, Reply
from sm120kit.fleet.types import Struct, Verdict
from sm120kit.fleet.verification.wording import quoted, replicas

QUESTION = "Count from one to twenty in digits, separated by commas, and say nothing else."
START = "One, two, three, four, five, six, seven,"
"""What a model without a chat template goes on from."""

MOST_TOKENS = 96
FEWEST_TOKENS = 4
"""A model that ends its answer to this question sooner has not understood it, or was cut off."""

FEW_WORDS = 3
"""A text that leaves its sisters' before this many words has nothing to do with the order of sums."""

_RUBBISH_SHARE = 0.2
"""Of replacement characters, from which on a text counts as rubbish. One at the end is a character cut in two."""

_WORD = re.compile(r"\s*(?:\w+|[^\w\s])")

_LOOP_SHARE = 0.9
"""Of a text that one piece repeated makes up, from which on it says nothing else."""

_LEAST_REPEATS = 8
_RUN = re.compile(r"(\S{1,24}?)(?:\s*\1){7,}")
"""The same piece :data:`_LEAST_REPEATS` times, with or without blanks between: scripts without blanks have no words."""

_LOOKED_AT = 4000
"""Characters of an answer in which repeats are sought; the question allows for far fewer."""


class Asked(Struct, frozen=True):
    """One question and what came of it."""

    problem: str = ""
    """Why no answer can be judged; empty = there is one."""
    said: Said | None = None
    way: str = "chat"
    """Or ``completion``: the model has no chat template."""
    seconds: float = 0


class Judged(Struct, frozen=True):
    """One server's answer, judged by itself."""

    verdict: Verdict
    text: str = ""
    """What is compared with its sisters' texts; empty where the answer was no good."""


async def ask(asking: Asking, url: str, *, limit_s: float, random_weights: bool = False) -> Asked:
    """Put the question. With random weights, go on past the end that those may come to at any token."""
    body: dict[str, object] = {"model": "default", "temperature": 0, "max_tokens": MOST_TOKENS}
    if random_weights:
        body["ignore_eos"] = True
    messages = [{"role": "user", "content": QUESTION}]
    chat = {**body, "messages": messages, "chat_template_kwargs": {"enable_thinking": False}}
    reply = await asking.post(url, "/v1/chat/completions", chat, limit_s=limit_s)
    if not _lacks_template(reply):
        return _read(reply, "chat", "/v1/chat/completions")
    reply = await asking.post(url, "/v1/completions", {**body, "prompt": START}, limit_s=limit_s)
    return _read(reply, "completion", "/v1/completions")


def _lacks_template(reply: Reply) -> bool:
    return reply.status in (400, 404, 422, 500) and (reply.status == 404 or "template" in reply.problem.lower())


def _read(reply: Reply, way: str, path: str) -> Asked:
    if reply.problem:
        return Asked(f"{path} {reply.problem}", way=way, seconds=reply.seconds)
    said = read_chat(reply.value) if way == "chat" else read_completion(reply.value)
    problem = "" if said else f"{path} answers as no SGLang does"
    return Asked(problem, said, way, reply.seconds)


def judge_answer(asked: Asked, *, random_weights: bool = False) -> Judged:
    """One answer by itself. Random weights may say anything, in any length but none."""
    said = asked.said
    if said is None:
        return Judged(_verdict(False, asked.problem))
    text = said.text if said.text.strip() else said.reasoning
    fault = _fault(said, text, random_weights)
    if fault:
        return Judged(_verdict(False, fault))
    remarks = [
        f"{quoted(text, 60)}, {said.tokens} tokens in {asked.seconds:.2f} s, finish_reason {said.finish_reason}",
        *(["the model has no chat template: it went on from a text instead"] if asked.way == "completion" else []),
        *(["all of it reasoning"] if not said.text.strip() else []),
        *(["the weights are random (load_format dummy), and so is the text"] if random_weights else []),
    ]
    return Judged(_verdict(True, "; ".join(remarks)), text)


def _fault(said: Said, text: str, random_weights: bool) -> str:
    """What is wrong with an answer; empty where nothing is."""
    ended = said.finish_reason or "none"
    if said.finish_reason not in DONE:
        return f"the generation ended with finish_reason {quoted(ended)}, after {quoted(text, 60)}"
    if said.tokens is None:
        return f"the answer {quoted(text, 60)} comes without a number of tokens in its usage"
    if said.tokens <= 0:
        return f"no token was generated (finish_reason {ended})"
    if not text.strip():
        return f"the answer is empty after {said.tokens} tokens (finish_reason {ended})"
    if random_weights:
        return ""
    if said.tokens < FEWEST_TOKENS:
        return f"the answer is over after {said.tokens} tokens: {quoted(text)} (finish_reason {ended})"
    if text.count("\ufffd") > _RUBBISH_SHARE * len(text):
        return f"the answer is rubbish: {quoted(text)} holds {text.count(chr(0xFFFD))} characters that are none"
    piece = _repeated(text)
    if piece:
        return (
            f"the answer only repeats {quoted(piece)}: {quoted(text, 60)}. Kernels that compute rubbish (NaN) do that. "
            "Random weights do so too, and are let pass with --load-format dummy"
        )
    return ""


def _repeated(text: str) -> str:
    """The piece that nearly all of a text consists of, again and again; empty where there is none."""
    whole = text.strip()[:_LOOKED_AT]
    words = _WORD.findall(whole)
    if len(words) >= _LEAST_REPEATS:
        word, times = Counter(each.strip() for each in words).most_common(1)[0]
        if times > _LOOP_SHARE * len(words):
            return str(word)
    run = max(_RUN.finditer(whole), key=lambda each: len(each[0]), default=None)
    return str(run[1]) if run and len(run[0]) > _LOOP_SHARE * len(whole) else ""


def judge_repeat(first: Judged, second: Judged) -> Verdict:
    """The same question put twice to one server."""
    if not first.verdict.passed:
        return first.verdict
    if not second.verdict.passed:
        return _verdict(False, f"asked a second time: {second.verdict.evidence}")
    if first.text == second.text:
        return _verdict(True, f"{first.verdict.evidence}; the same when asked twice")
    words, shown = first_difference(first.text, second.text)
    if words < FEW_WORDS:
        return _verdict(False, f"asked twice at temperature 0 it answers differently from the start: {shown}")
    return _verdict(True, f"{first.verdict.evidence}; asked twice, the answers part after {words} words: {shown}")


def compare(answers: Mapping[int, Judged], *, reference: str = "", alike: bool = True) -> dict[int, Verdict]:
    """Every server's verdict beside those of its sisters, by its number.

    The text of most of them, else ``reference`` (what was verified before), is taken for the right one; where two
    texts are given equally often, nobody can tell which is, and both fail. ``alike``: GPUs and SGLang are the same.
    """
    good = {index: each.text for index, each in answers.items() if each.verdict.passed}
    right = _right(tuple(good.values()), reference)
    return {index: _beside(index, each, good, right, reference, alike) for index, each in answers.items()}


def _right(texts: tuple[str, ...], reference: str) -> str:
    """The text that the others are held against; empty where two have equally good claims."""
    if reference:
        return reference
    counted = Counter(texts).most_common(2)
    if len(counted) == 2 and counted[0][1] == counted[1][1]:
        return ""
    return counted[0][0] if counted else ""


def _beside(index: int, judged: Judged, good: Mapping[int, str], right: str, reference: str, alike: bool) -> Verdict:
    own = judged.verdict
    others = [each for each in good if each != index]
    if not own.passed or (not others and not reference):
        return own
    same = [each for each in others if good[each] == judged.text]
    if judged.text == right:
        agreed = f"the same as {replicas(same)}" if same else "the same as was verified before" if reference else ""
        return _verdict(True, "; ".join(each for each in (own.evidence, agreed) if each))
    against = right or next(good[each] for each in others if good[each] != judged.text)
    whose = next((replicas([each]) for each in others if good[each] == against), "what was verified before")
    words, shown = first_difference(judged.text, against)
    if alike and words < FEW_WORDS:
        return _verdict(False, f"it answers otherwise than {whose} from the start, at temperature 0: {shown}")
    why = "" if alike else " (GPUs or versions of SGLang are not the same)"
    return _verdict(True, f"{own.evidence}; parts from {whose} after {words} words{why}: {shown}")


def first_difference(one: str, other: str) -> tuple[int, str]:
    """After how many words two texts part, and what each says there.

    A text that is the beginning of the other parts from it where it ends; being whole words long, it agrees.
    """
    first, second = _WORD.findall(one), _WORD.findall(other)
    words = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        words += 1
    mine, theirs = ("".join(each[words : words + 8]) or "the end" for each in (first, second))
    return words, f"{quoted(mine, 60)} against {quoted(theirs, 60)}"


def _verdict(passed: bool, evidence: str) -> Verdict:
    return Verdict("generation", passed, evidence)

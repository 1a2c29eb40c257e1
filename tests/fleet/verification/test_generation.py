"""What counts as an answer, and when two answers count as the same."""

from __future__ import annotations

import pytest

from sm120kit.engines.sglang.answers import Said
from sm120kit.fleet.verification.generation import (
    Asked,
    Judged,
    compare,
    first_difference,
    judge_answer,
    judge_repeat,
)
from tests.fleet.verification.stand_in import COUNTING


def judged(text: str, **changes: object) -> Judged:
    """An answer, judged by itself."""
    said = Said(text, **{"tokens": 60, "finish_reason": "stop", **changes})  # type: ignore[arg-type]
    return judge_answer(Asked(said=said))


@pytest.mark.parametrize(
    ("text", "changes", "said"),
    [
        ("", {}, "the answer is empty after 60 tokens (finish_reason stop)"),
        (" \n", {}, "the answer is empty"),
        ("", {"tokens": 0}, "no token was generated"),
        (COUNTING, {"tokens": None}, "without a number of tokens"),
        (COUNTING, {"finish_reason": "abort"}, 'ended with finish_reason "abort"'),
        (COUNTING, {"finish_reason": ""}, 'ended with finish_reason "none"'),
        ("1", {"tokens": 2}, 'over after 2 tokens: "1"'),
        ("\ufffd\ufffd\ufffd x y \ufffd", {}, "holds 4 characters that are none"),
        ("!" * 60, {}, 'only repeats "!"'),
        ("1" + "!" * 60, {}, 'only repeats "!"'),
        ("", {"reasoning": "!" * 60}, 'only repeats "!"'),
        ("la la la la la la la la la la", {}, 'only repeats "la"'),
        ("的" * 60, {}, 'only repeats "的"'),
        ("ink" * 30, {}, 'only repeats "ink"'),
        ("<pad>" * 30, {}, 'only repeats "<pad>"'),
    ],
)
def test_what_is_no_answer(text: str, changes: dict[str, object], said: str) -> None:
    verdict = judged(text, **changes).verdict
    assert verdict.passed is False
    assert said in verdict.evidence


@pytest.mark.parametrize(
    ("text", "changes", "said"),
    [
        (COUNTING, {}, "60 tokens in 0.00 s, finish_reason stop"),
        (COUNTING, {"finish_reason": "length"}, "finish_reason length"),
        (COUNTING + "\ufffd", {}, "60 tokens"),
        ("", {"reasoning": "I count: 1, 2, 3"}, "all of it reasoning"),
        ("1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2", {}, "60 tokens"),
        ("no, no, no: 1, 2, 3, 4, 5", {}, "60 tokens"),
    ],
)
def test_what_is_an_answer(text: str, changes: dict[str, object], said: str) -> None:
    verdict = judged(text, **changes).verdict
    assert verdict.passed is True
    assert said in verdict.evidence


def test_random_weights_may_say_anything_but_nothing() -> None:
    rubbish = judge_answer(Asked(said=Said("\ufffd" * 9, tokens=1, finish_reason="stop")), random_weights=True)
    assert rubbish.verdict.passed is True
    assert "the weights are random" in rubbish.verdict.evidence
    repeated = judge_answer(Asked(said=Said("!" * 60, tokens=60, finish_reason="length")), random_weights=True)
    assert repeated.verdict.passed is True
    nothing = judge_answer(Asked(said=Said("", tokens=1, finish_reason="stop")), random_weights=True)
    assert nothing.verdict.passed is False


def test_no_answer_keeps_its_reason() -> None:
    assert judge_answer(Asked("/v1/chat/completions answers with HTTP 500")).verdict.evidence.endswith("HTTP 500")


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("1, 2, 3", "1, 2, 4", 4),
        ("1, 2", "1, 2, 3", 3),
        ("one", "two", 0),
        ("rehearsal!!!", "rehearsal of it", 1),
        ("a  b", "a b", 1),
        ("", "x", 0),
    ],
)
def test_where_texts_part(one: str, other: str, words: int) -> None:
    assert first_difference(one, other)[0] == words


def test_all_the_same() -> None:
    verdicts = compare({index: judged(COUNTING) for index in range(4)})
    assert all(each.passed for each in verdicts.values())
    assert verdicts[1].evidence.endswith("the same as replicas 0, 2-3")


def test_another_text_from_the_start_is_a_fault_of_the_one_that_gives_it() -> None:
    verdicts = compare({0: judged(COUNTING), 1: judged("Bananas are rich in many things."), 2: judged(COUNTING)})
    assert [each.passed for each in verdicts.values()] == [True, False, True]
    assert "otherwise than replica 0 from the start" in verdicts[1].evidence
    assert '"Bananas are rich in many things."' in verdicts[1].evidence
    assert '"1, 2, 3, 4,"' in verdicts[1].evidence


def test_a_text_that_parts_later_on_is_shown_and_let_pass() -> None:
    later = COUNTING.replace("17, 18", "18, 17")
    verdicts = compare({0: judged(COUNTING), 1: judged(later), 2: judged(COUNTING)})
    assert all(each.passed for each in verdicts.values())
    assert "parts from replica 0 after 32 words" in verdicts[1].evidence
    assert '" 18, 17, 19, 20"' in verdicts[1].evidence


def test_of_two_texts_given_equally_often_neither_is_right() -> None:
    verdicts = compare({0: judged(COUNTING), 1: judged("Bananas are rich in many things.")})
    assert [each.passed for each in verdicts.values()] == [False, False]


def test_what_was_verified_before_decides() -> None:
    verdicts = compare({0: judged(COUNTING), 1: judged("Bananas are rich in many things.")}, reference=COUNTING)
    assert [each.passed for each in verdicts.values()] == [True, False]
    alone = compare({0: judged(COUNTING)}, reference=COUNTING)
    assert alone[0].evidence.endswith("the same as was verified before")
    assert compare({0: judged("Bananas, and more of them.")}, reference=COUNTING)[0].passed is False


def test_unlike_gpus_are_only_compared_in_words() -> None:
    answers = {0: judged(COUNTING), 1: judged("Bananas are rich in many things."), 2: judged(COUNTING)}
    verdict = compare(answers, alike=False)[1]
    assert verdict.passed is True
    assert "are not the same" in verdict.evidence


def test_a_server_without_an_answer_takes_no_part() -> None:
    verdicts = compare({0: judged(COUNTING), 1: judged(""), 2: judged(COUNTING)})
    assert [each.passed for each in verdicts.values()] == [True, False, True]
    assert verdicts[1].evidence.startswith("the answer is empty")


def test_the_same_question_twice() -> None:
    first = judged(COUNTING)
    assert judge_repeat(first, judged(COUNTING)).evidence.endswith("the same when asked twice")
    assert judge_repeat(first, judged("Bananas, and more of them.")).passed is False
    later = judge_repeat(first, judged(COUNTING.replace("20", "21")))
    assert later.passed is True
    assert "the answers part after 38 words" in later.evidence
    assert judge_repeat(first, judged("")).passed is False

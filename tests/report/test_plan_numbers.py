"""What a plan prints does not contradict itself: notes say the headline's numbers, and every sign has its legend."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from sm120kit.capacity.formulas import known_versions
from sm120kit.capacity.machine import machine_of_names
from sm120kit.capacity.plan import Order, make_plan
from sm120kit.capacity.types import Plan
from sm120kit.diagnosis.hardware import parse_gpus
from sm120kit.diagnosis.versions import older
from sm120kit.errors import Sm120kitError
from sm120kit.report.plan import render_plan
from tests.models import QWEN3_32B, QWEN3_NEXT_80B
from tests.planning import DRAFTING, GIB, GPT_OSS_20B, LLAMA2_7B, QWEN36_27B, server

MODELS: tuple[dict[str, Any], ...] = (QWEN36_27B, LLAMA2_7B, GPT_OSS_20B, QWEN3_32B, QWEN3_NEXT_80B)
VERSIONS = tuple(known_versions())
GPUS = ("rtx-pro-6000x3", "rtx-5090", "rtx-5090,b200x2")
LINES: tuple[tuple[str, ...], ...] = (
    (),
    ("--max-running-requests", "64"),
    ("--max-running-requests", "200", "--context-length", "8192"),
    ("--max-running-requests", "40", "--mem-fraction-static", "0.995"),
    ("--max-running-requests", "12", "--disable-radix-cache"),
    ("--max-running-requests", "40", "--chunked-prefill-size", "4096"),
    (*DRAFTING, "--mem-fraction-static", "0.84"),
    ("--max-running-requests", "128", *DRAFTING),
)
SIZES = ((8, None), (25, 4000), (51, None), (51, 60_000))

HEAD = re.compile(
    r"(\d+) granted(?: by each of \d+ servers)?, "
    r"(?:(\d+) at best|and room for (\d+) of ([\d,]+) tokens each)\."
)
CROWDED = re.compile(
    r"(\d+) requests of ([\d,]+) tokens need ([\d,]+), and the pool holds ([\d,]+): (\d+) of that size"
)


def _plans(version: str) -> Iterator[Plan]:
    for config, gpus, line, (weights, tokens_each) in itertools.product(MODELS, GPUS, LINES, SIZES):
        machine = machine_of_names(parse_gpus(gpus), None)
        strategy = "--mamba-scheduler-strategy" if older(version, "0.5.14") else "--mamba-radix-cache-strategy"
        with_states = config in (QWEN36_27B, QWEN3_NEXT_80B)
        words = (strategy, "extra_buffer", *line) if with_states and DRAFTING[0] in line else line
        free = machine.cards[0].free / GIB
        try:
            asked = server(config, version, *words, free=free, weights=weights, gpu_memory_mib=machine.smallest_mib)
            yield make_plan(Order(asked, machine, "/model", version, strategy, tokens_each=tokens_each), points=12)
        except Sm120kitError:  # not every combination is modelled
            continue


@cache
def _made(version: str) -> tuple[tuple[Plan, str], ...]:
    return tuple((plan, " ".join(render_plan(plan, width=100).split())) for plan in _plans(version))


def _int(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.parametrize("version", VERSIONS)
def test_notes_say_the_headlines_numbers(version: str) -> None:
    said = {"crowded": 0, "states": 0, "cut": 0, "drafting": 0, "graphs": 0}
    for plan, _ in _made(version):
        predicted, best = plan.predicted, plan.best
        for note in plan.notes:
            if found := re.match(
                r"(\d+) requests of ([\d,]+) tokens need ([\d,]+), and the pool holds ([\d,]+): (\d+) of", note
            ):
                said["crowded"] += 1
                granted, each, needed, tokens, together = map(_int, found.groups())
                assert (granted, each, tokens) == (predicted.granted, predicted.tokens_each, predicted.tokens)
                assert (together, needed) == (predicted.together, granted * each)
                assert together == tokens // each
                larger = re.search(r"no more than (\d+) are asked for", note)
                assert (int(larger[1]) if larger else together) == best.max_running_requests
            elif found := re.match(r"(\d+) states serve (\d+) requests, each counted (\d+); (\d+) (are|were)", note):
                said["states"] += 1
                slots, granted, each, requested = map(int, found.groups()[:4])
                assert (slots, granted, each) == (predicted.state_slots, predicted.granted, predicted.slots_per_request)
                assert slots // each == granted
                assert requested == plan.requested or (plan.requested is None and found[5] == "are")
                if asking := re.search(r"asking for (\d+) grants (\d+)", note):
                    said["drafting"] += 1
                    assert tuple(map(int, asking.groups())) == (best.max_running_requests, best.granted)
            elif found := re.match(r"(\d+) requests are cut to (\d+)", note):
                said["cut"] += 1
                assert int(found[2]) == predicted.granted < int(found[1])
            elif found := re.match(r"graphs will not fit: ([\d.]+) GiB", note):
                said["graphs"] += 1
                assert found[1] == f"{-plan.budget.free / GIB:.2f}"
            else:
                assert note.startswith(("where cards reach", "the smallest card"))
    assert all(said[kind] for kind in ("crowded", "states", "graphs")), said


@pytest.mark.parametrize("version", VERSIONS)
def test_the_text_says_the_plans_numbers(version: str) -> None:
    for plan, text in _made(version):
        predicted, best, fleet = plan.predicted, plan.best, plan.fleet
        if predicted.failure:
            assert f"t will not start: {predicted.failure}" in text
            continue
        if found := HEAD.search(text):
            assert int(found[1]) == predicted.granted
            if found[2]:
                assert int(found[2]) == best.max_running_requests >= predicted.granted
                assert predicted.together == predicted.granted, "what is granted at best has room"
            else:
                assert (int(found[3]), _int(found[4])) == (predicted.together, predicted.tokens_each)
                assert predicted.together <= best.max_running_requests < predicted.granted
        else:
            raise AssertionError(text)
        if fleet.servers > 1:
            (row,) = re.findall(r"\d+ of them grant .*?(?:at best|tokens each)", text)
            assert f"{fleet.servers} of them grant {fleet.granted}" in row
            assert f"{fleet.best} at best" in row or f"room for {fleet.together} of" in row
            if "," not in plan.hardware:
                numbers = (predicted.granted, best.max_running_requests, predicted.together)
                assert (fleet.granted, fleet.best, fleet.together) == tuple(fleet.servers * each for each in numbers)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_sign_has_its_legend(version: str) -> None:
    drawn = {"@": 0, "*": 0}
    for plan, _ in _made(version):
        lines = render_plan(plan, width=100).splitlines()
        memory = next(number for number, line in enumerate(lines) if line.startswith("Memory of one "))
        rows = list(itertools.takewhile(bool, lines[memory + 2 :]))
        assert set(lines[memory + 1].strip()) <= {row.split()[0] for row in rows}
        marked = any(re.search(r"\|.*@", line) for line in lines)
        assert any(f"; @ at {plan.requested})" in line for line in lines) == marked
        stars = any(line.startswith("*") for line in lines)
        assert any("(* may change" in line for line in lines) == stars
        drawn["@"] += marked
        drawn["*"] += stars
    assert all(drawn.values())

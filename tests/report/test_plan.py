"""A plan as text: the bar, the chart."""

from __future__ import annotations

import time

from sm120kit.capacity.types import SCHEMA, Alternative, Best, Budget, Fleet, Plan, Point, Predicted
from sm120kit.report.chart import chart
from sm120kit.report.plan import render_plan

GIB = 1 << 30

PLAN = Plan(
    schema=SCHEMA,
    tool_version="0",
    model="/model",
    architecture="Qwen3_5ForConditionalGeneration",
    sglang="0.5.12",
    formulas="0.5.12",
    hardware="1x rtx-pro-6000",
    requested=64,
    predicted=Predicted(19, 251_041, 96, 5, 153_944_064, 65_536, 0.85, 8192, 256),
    best=Best(19, 19, ("--max-running-requests", "19"), 251_041, 13_212),
    alternatives=(Alternative("states in bfloat16", ("--mamba-ssm-dtype", "bfloat16"), 37, 37, 251_509, True),),
    budget=Budget(100 * GIB, 50 * GIB, 0, 15 * GIB, 15 * GIB, 0, GIB, 19 * GIB),
    assumptions=("nothing",),
    fleet=Fleet(1, 1, 64, 19, 19),
    curve=(Point(1, 1), Point(19, 19), Point(64, 19)),
)


def test_the_bar_shows_each_part_by_its_share() -> None:
    lines = render_plan(PLAN, width=102).split("\n")
    bar = next(line for line in lines if line.strip().startswith("WW")).strip()
    assert {sign: bar.count(sign) for sign in "WSKG."} == {"W": 50, "S": 15, "K": 15, "G": 1, ".": 19}


def test_what_changes_answers_is_marked() -> None:
    text = render_plan(PLAN)
    assert "*   37  states in bfloat16" in text
    assert "64 requested, 19 granted, 19 at best." in text


def test_a_plan_that_hides_control_characters() -> None:
    from msgspec.structs import replace

    assert "\x1b" not in render_plan(replace(PLAN, architecture="\x1b[31mred", notes=("\x1b]0;title\x07",)))


def test_a_chart_is_as_high_as_its_largest_value() -> None:
    rows = chart([(1, 1), (2, 2), (3, 3), (4, 4)], width=40, height=4, marks=[2])
    assert rows == ["4 |   #", "  |  ##", "  | @##", "0 |#@##", "  +----", "   1  4"]


def test_a_chart_has_no_gaps_where_points_are_few() -> None:
    assert chart([(1, 5), (100, 5)], width=40, height=1)[0] == "5 |##"
    assert chart([], width=40) == []
    assert chart([(1, 0)], width=40) == []


def test_a_thousand_points_are_drawn_in_no_time() -> None:
    points = [(number, number if number < 500 else 1000 - number) for number in range(1, 1001)]
    began = time.process_time()
    assert len(chart(points, width=100)) == 14
    assert time.process_time() - began < 0.2

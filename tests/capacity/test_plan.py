"""The whole plan: budget, best, alternatives, fleet, bound, notes, assumptions."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sm120kit.capacity.formulas import choose_formula, known_versions
from sm120kit.capacity.machine import Machine, machine_of_names, machine_of_snapshot
from sm120kit.capacity.plan import Order, make_plan
from sm120kit.capacity.roofline import LOAD_REQUESTS, Read
from sm120kit.capacity.types import Plan
from sm120kit.diagnosis.case import NamedGpu
from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.facts import Unknown
from tests.builders import driver, gpu, no_driver, snapshot
from tests.models import QWEN3_32B, QWEN3_NEXT_80B
from tests.planning import DRAFTING, GIB, OLD_STRATEGY, QWEN36_27B, server

B200 = NamedGpu("b200", "10.0", 7, 183359 << 20)
RTX_PRO_6000 = NamedGpu("rtx-pro-6000", "12.0", 8, 97887 << 20)
RTX_5090 = NamedGpu("rtx-5090", "12.0", 1, 32607 << 20)


def _plan(
    *words: str,
    config: dict[str, Any] = QWEN36_27B,
    version: str = "0.5.11",
    gpus: tuple[NamedGpu, ...] = (B200,),
    free: float | None = 177.5,
    weights: float = 51,
    **order: Any,
) -> Plan:
    machine = machine_of_names(gpus, round(free * GIB) if free else None)
    asked = server(
        config,
        version,
        *words,
        free=machine.cards[0].free / GIB,
        weights=weights,
        gpu_memory_mib=machine.smallest_mib,
    )
    return make_plan(Order(asked, machine, "/model", version, OLD_STRATEGY, **order))


STORY = (OLD_STRATEGY, "extra_buffer", "--mem-fraction-static", "0.84", *DRAFTING, "--max-running-requests", "128")


def test_requested_granted_best() -> None:
    plan = _plan(*STORY)
    assert (plan.requested, plan.predicted.granted, plan.best.max_running_requests) == (128, 16, 47)
    assert plan.best.arguments == ("--max-running-requests", "47")
    assert (plan.best.granted, plan.best.tokens, plan.best.tokens_per_request) == (47, 613_643, 13_056)


def test_the_budget_adds_up() -> None:
    budget = _plan(*STORY).budget
    parts = (budget.weights, budget.draft_weights, budget.state_pool, budget.kv_pool, budget.reserve, budget.graphs)
    assert sum(parts) + budget.free == budget.free_before_loading == round(177.5 * GIB)
    assert budget.reserved_for_drafting == 128 * 4 * 153_944_064


def test_a_shortfall_is_explained_in_numbers() -> None:
    note = _plan(*STORY).notes[0]
    assert "81 states serve 16 requests, each counted 5; 128 were asked for" in note
    assert "sets 73.4 GiB aside for draft tokens, of which 63.7 GiB are never used" in note
    assert "asking for 47 grants 47" in note


def test_alternatives_are_ranked_and_those_that_change_answers_are_marked() -> None:
    plan = _plan(*STORY)
    assert [(each.name, each.granted, each.quality_affecting) for each in plan.alternatives] == [
        ("no prefix cache", 116, False),
        ("states in bfloat16", 92, True),
        ("states for exactly these requests", 69, False),
        ("a static fraction of 0.855", 48, False),
    ]
    assert all(each.granted > plan.best.granted for each in plan.alternatives)


def test_another_strategy_is_found() -> None:
    line = (OLD_STRATEGY, "extra_buffer", "--mamba-ssm-dtype", "bfloat16", "--mem-fraction-static", "0.85")
    plan = _plan(*line, version="0.5.12", gpus=(RTX_PRO_6000,), free=94.16, weights=50.95)
    assert plan.best.granted == 37
    found = {each.name: each for each in plan.alternatives}
    assert found["strategy no_buffer"].granted == 62
    assert found["strategy no_buffer"].arguments[:2] == (OLD_STRATEGY, "no_buffer")


def test_tokens_needed_by_every_request_limit_the_best() -> None:
    # At 47 requests there are 613,643 tokens; 30,000 each leave room for fewer.
    plan = _plan(*STORY, tokens_each=30_000)
    best = plan.best
    assert best.granted < 47
    assert best.tokens_per_request >= 30_000
    assert _plan(*STORY, "--context-length", "30000").best == best
    assert "the context length given" in " ".join(_plan(*STORY, "--context-length", "30000").assumptions)
    assert "2,048 tokens at most" in " ".join(_plan(*STORY).assumptions)


def test_more_granted_than_the_pool_can_hold_is_said() -> None:
    plan = _plan(*STORY[:-1], "16", tokens_each=100_000)
    assert [note for note in plan.notes if "16 requests of 100,000 tokens need 1,600,000" in note]


def test_a_fleet_is_summed_up() -> None:
    fleet = _plan(*STORY).fleet
    assert (fleet.gpus, fleet.servers, fleet.requested, fleet.granted, fleet.best) == (7, 7, 896, 112, 329)


def test_a_fleet_of_two_sizes_gives_each_card_its_own_and_defaults_by_the_smallest() -> None:
    line = ("--max-running-requests", "512")
    mixed = _plan(*line, config=QWEN3_32B, version="0.5.12", gpus=(RTX_PRO_6000, RTX_5090), free=None, weights=18)
    alone = _plan(*line, config=QWEN3_32B, version="0.5.12", gpus=(RTX_5090,), free=None, weights=18)
    assert (mixed.fleet.gpus, mixed.fleet.servers) == (9, 9)
    assert mixed.predicted == alone.predicted
    assert mixed.predicted.chunked_prefill_size == 2048
    assert mixed.fleet.granted > 9 * alone.predicted.granted - 1
    assert [note for note in mixed.notes if "the smallest card (32,607 MiB) sets" in note]


def test_servers_that_span_cards() -> None:
    fleet = _plan("--tp-size", "2", config=QWEN3_32B, version="0.5.12", weights=31).fleet
    assert (fleet.gpus, fleet.servers) == (7, 3)


def test_the_bound_of_decoding() -> None:
    line = (OLD_STRATEGY, "extra_buffer", "--mamba-ssm-dtype", "bfloat16", "--mem-fraction-static", "0.85")
    plan = _plan(
        *line, "--max-running-requests", "64", version="0.5.12", gpus=(RTX_PRO_6000,), free=94.16, weights=50.95
    )
    bound = plan.rooflines[-1]
    # 50.95 GiB of weights, 37 * 2 states of 78,446,592 bytes, 37 * 2,048 tokens of 65,536 bytes, at 1,792 GB/s.
    step = round(50.95 * GIB) + 2 * 37 * 78_446_592 + 37 * 2048 * 65_536
    assert bound.bytes_per_step == step
    assert bound.tokens_per_second == pytest.approx(37 * 1.792e12 / step)
    assert bound.tokens_per_second < 1180  # the story's figure cannot be that of 37 requests
    # What a launch measures is compared with the bound of requests that hold next to nothing.
    assert plan.roofline is not None
    assert plan.roofline.requests == 37
    assert plan.roofline.bytes_per_step == step - 37 * 2047 * 65_536


def test_a_launch_is_compared_with_the_bound_of_its_own_load() -> None:
    plan = _plan(config=QWEN3_32B, version="0.5.23", weights=61, free=94)
    assert plan.predicted.granted > LOAD_REQUESTS
    assert plan.roofline is not None
    assert (plan.roofline.requests, plan.roofline.tokens_each) == (LOAD_REQUESTS, 1)


def test_of_experts_only_those_of_one_token_count_for_the_bound() -> None:
    line = ("--mem-fraction-static", "0.87", "--max-running-requests", "4")
    plan = _plan(*line, config=QWEN3_NEXT_80B, weights=150, read=Read(140 * GIB, 0))
    assert plan.roofline is not None
    assert plan.roofline.bytes_per_step < 14 * GIB


def test_no_bound_for_a_card_that_is_not_known() -> None:
    assert _plan(*STORY, gpus=(NamedGpu("12.0", "12.0"),)).roofline is None


def test_a_server_that_will_not_start() -> None:
    plan = _plan("--mem-fraction-static", "0.84", "--max-running-requests", "8", weights=160)
    assert plan.predicted.failure == "no memory is left for even one state"
    assert (plan.predicted.granted, plan.best.granted, plan.best.arguments) == (0, 0, ())
    assert plan.budget.free == plan.budget.free_before_loading - plan.budget.weights


def test_graphs_that_do_not_fit() -> None:
    line = ("--mem-fraction-static", "0.999", "--max-running-requests", "8")
    plan = _plan(*line, config=QWEN3_32B)
    assert plan.budget.free < 0
    assert [note for note in plan.notes if "graphs will not fit" in note]


def test_named_cards_lose_what_the_driver_takes() -> None:
    machine = machine_of_names((RTX_PRO_6000,), None)
    assert machine.cards[0].free == (97887 << 20) - 3 * GIB // 2
    assert "1.5 GiB are gone before loading begins" in machine.assumptions[0]
    assert machine_of_names((RTX_PRO_6000,), 90 * GIB).assumptions == ()


def test_a_card_of_unknown_size_needs_a_word() -> None:
    with pytest.raises(Sm120kitError, match=r"how much memory 12\.1 has is not known"):
        machine_of_names((NamedGpu("12.1", "12.1"),), None)
    machine = machine_of_names((NamedGpu("12.1", "12.1"),), 100 * GIB)
    assert (machine.smallest_mib, machine.cards[0].free) == (0, 100 * GIB)


def test_the_cards_of_a_snapshot() -> None:
    taken = snapshot(driver=driver(gpus=(gpu(0), gpu(1))))
    machine = machine_of_snapshot(taken, None)
    assert machine.gpus == 2
    assert "what NVML calls free" in machine.assumptions[0]


@pytest.mark.parametrize("taken", [snapshot(driver=no_driver()), snapshot(driver=driver(gpus=()))])
def test_a_snapshot_without_a_gpu(taken: Any) -> None:
    with pytest.raises(Sm120kitError, match="no GPU to plan for"):
        machine_of_snapshot(taken, None)


def test_a_card_that_tells_no_memory() -> None:
    silent = replace(gpu(), memory_total=Unknown("NOT_SUPPORTED"), memory_free=Unknown("NOT_SUPPORTED"))
    taken = snapshot(driver=driver(gpus=(silent,)))
    with pytest.raises(Sm120kitError, match="does not tell how much memory is free: NOT_SUPPORTED"):
        machine_of_snapshot(taken, None)
    assert machine_of_snapshot(taken, 100 * GIB).cards[0].free == 100 * GIB


def test_known_versions_and_their_neighbours() -> None:
    assert known_versions() == ("0.5.11", "0.5.12", "0.5.12.post1", "0.5.13", "0.5.13.post1", "0.5.23")
    assert choose_formula("0.5.12.post1").formula.version == "0.5.12"
    with pytest.raises(Sm120kitError, match="is not known here") as refused:
        choose_formula("0.5.17")
    assert refused.value.listed == known_versions()
    assumed = choose_formula("0.5.17", assume=True)
    assert (assumed.formula.version, "its own source was not read" in assumed.assumption) == ("0.5.13.post1", True)
    with pytest.raises(Sm120kitError, match=r"0\.5\.1 is older than every version known here$"):
        choose_formula("0.5.1", assume=True)
    with pytest.raises(Sm120kitError, match="is no version of SGLang"):
        choose_formula("newest")


def test_cards_are_grouped_by_size() -> None:
    machine: Machine = machine_of_names((RTX_PRO_6000, RTX_5090, RTX_PRO_6000), None)
    assert [(card.name, card.number) for card in machine.cards] == [("rtx-5090", 1), ("rtx-pro-6000", 16)]
    assert (machine.mixed, machine.smallest_mib) == (True, 32607)


def test_the_bound_for_one_request_and_for_those_that_have_room() -> None:
    plan = _plan("--max-running-requests", "2048", config=QWEN3_32B, version="0.5.23", weights=61, free=94)
    assert plan.predicted.together < plan.predicted.granted
    one, together = plan.rooflines
    assert (one.requests, together.requests) == (1, plan.predicted.together)
    assert {one.tokens_each, together.tokens_each} == {2048}
    assert one.bytes_per_step == 61 * GIB + 2048 * plan.predicted.bytes_per_token


def test_a_table_of_embeddings_is_not_read_for_a_step() -> None:
    line = ("--mem-fraction-static", "0.87", "--max-running-requests", "4")
    whole = _plan(*line, config=QWEN3_32B, weights=61).rooflines[0]
    less = _plan(*line, config=QWEN3_32B, weights=61, read=Read(0, GIB)).rooflines[0]
    assert whole.bytes_per_step - less.bytes_per_step == GIB

"""What SGLang chooses from the size of the smallest card."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from sm120kit.capacity.defaults import Defaults, resolve_defaults
from sm120kit.capacity.formulas import choose_formula
from sm120kit.capacity.machine import machine_of_names
from sm120kit.capacity.plan import Order, make_plan
from sm120kit.capacity.predict import predict
from sm120kit.diagnosis.case import NamedGpu
from tests.models import DEEPSEEK_V3, QWEN3_32B
from tests.planning import GIB, QWEN36_27B, geometry, server, settings


def _defaults(version: str, mib: int, *arguments: str, config: dict[str, object] = QWEN3_32B) -> Defaults:
    formula = choose_formula(version).formula
    return resolve_defaults(formula, settings(config, version, *arguments), geometry(config), mib)


@pytest.mark.parametrize(
    ("mib", "version", "fraction", "chunk", "graph"),
    [
        (24564, "0.5.12", 0.833, 2048, 24),  # RTX 4090
        (24564, "0.5.23", 0.704, 4096, 48),
        (32607, "0.5.12", 0.874, 2048, 24),  # RTX 5090
        (32607, "0.5.23", 0.777, 4096, 48),
        (46068, "0.5.11", 0.843, 4096, 32),  # L40S
        (81559, "0.5.12", 0.83, 8192, 256),  # H100
        (97887, "0.5.12", 0.858, 8192, 256),  # RTX PRO 6000
        (97887, "0.5.23", 0.858, 8192, 256),
        (143771, "0.5.13", 0.903, 8192, 256),  # H200
        (183359, "0.5.12", 0.854, 16384, 512),  # B200
        (183359, "0.5.23", 0.854, 16384, 512),
        (0, "0.5.12", 0.88, 4096, 160),
        (0, "0.5.23", 0.95, 4096, 160),
    ],
)
def test_a_dense_model_on_one_card(mib: int, version: str, fraction: float, chunk: int, graph: int) -> None:
    found = _defaults(version, mib)
    assert (found.fraction, found.chunk, found.decode_graph) == (fraction, chunk, graph)


@pytest.mark.parametrize(
    ("mib", "version", "fraction"),
    [(32607, "0.5.12", 0.749), (97887, "0.5.12", 0.816), (183359, "0.5.11", 0.831), (97887, "0.5.23", 0.862)],
)
def test_drafting_takes_four_gib_before_it_is_counted_itself(mib: int, version: str, fraction: float) -> None:
    line = ("--speculative-algorithm", "EAGLE", "--speculative-draft-model-path", "/draft")
    assert _defaults(version, mib, *line).fraction == fraction


@pytest.mark.parametrize(("step", "below", "above"), [(35, 0.886, 0.798), (60, 0.882, 0.774), (160, 0.915, 0.836)])
def test_the_three_steps_down_of_the_default_fraction(step: int, below: float, above: float) -> None:
    """A card that is 1 MiB larger keeps less for requests: larger chunks and graphs are taken from there on."""
    found = [_defaults("0.5.12", mib).fraction for mib in (step * 1024 - 1, step * 1024)]
    assert found == [below, above]


@pytest.mark.parametrize(("step", "below", "above"), [(20, 0.802, 0.645), (60, 0.882, 0.774), (160, 0.915, 0.836)])
def test_the_three_steps_down_in_0_5_23(step: int, below: float, above: float) -> None:
    found = [_defaults("0.5.23", mib).fraction for mib in (step * 1024 - 1, step * 1024)]
    assert found == [below, above]


@pytest.mark.parametrize(
    ("name", "mib", "said"),
    [("rtx-pro-6000", 97887, "60 GiB"), ("l40s", 46068, "35 GiB"), ("b200", 183359, "160 GiB")],
)
def test_the_plan_points_the_step_out(name: str, mib: int, said: str) -> None:
    machine = machine_of_names((NamedGpu(name, "12.0", 1, mib << 20),), None)
    asked = server(QWEN3_32B, "0.5.12", free=machine.cards[0].free / GIB, weights=8, gpu_memory_mib=mib)
    plan = make_plan(Order(asked, machine, "/model", "0.5.12", ""))
    (note,) = (note for note in plan.notes if f"where cards reach {said}" in note)
    # What the note proposes and promises holds, and the fraction is that of the plan.
    assert f"a static fraction of {plan.predicted.mem_fraction_static:.3f} on this one" in note
    match = re.search(r"with --chunked-prefill-size (\d+) it is (0\.\d+)", note)
    assert match
    chunk, fraction = match.groups()
    smaller = replace(asked, settings=replace(asked.settings, chunk=int(chunk)))
    assert f"{predict(smaller).defaults.fraction:.3f}" == fraction
    assert [each for each in plan.alternatives if each.arguments[:2] == ("--chunked-prefill-size", chunk)]
    given = server(QWEN3_32B, "0.5.12", "--mem-fraction-static", "0.8", free=40, weights=8, gpu_memory_mib=mib)
    notes = make_plan(Order(given, machine, "", "0.5.12", "")).notes
    assert not [note for note in notes if "where cards reach" in note]


def test_four_gpus_take_larger_graphs() -> None:
    assert _defaults("0.5.12", 97887, "--tp-size", "4").decode_graph == 512


def test_graphs_follow_the_requests_from_0_5_23_on() -> None:
    line = ("--max-running-requests", "32")
    assert (_defaults("0.5.12", 97887, *line).decode_graph, _defaults("0.5.23", 97887, *line).decode_graph) == (256, 32)
    given = (*line, "--cuda-graph-max-bs-decode", "64")
    assert _defaults("0.5.23", 97887, *given).decode_graph == 64


def test_graphs_that_are_switched_off_free_their_memory_from_0_5_23_on() -> None:
    # 0.5.12 goes on counting 2 MiB for each of 256 requests; 0.5.23 counts neither these nor 58 prefill graphs.
    before, after = (_defaults(version, 97887, "--disable-cuda-graph") for version in ("0.5.12", "0.5.23"))
    assert (before.graphs >> 20, after.graphs >> 20) == (2 * 256 + 8 * 58, 0)


def test_a_vision_tower_takes_its_part() -> None:
    # 27 layers of 1152: 35,831,808 / 25,165,824 = 1.4238; 0.95 * (1 - 0.1 * 0.4238) = 0.909737.
    # No prefill graphs beside it: (97887 - 512 - 12288 - 512 - 128) / 97887 = 0.863.
    assert _defaults("0.5.12", 97887, config=QWEN36_27B).fraction == pytest.approx(0.863 * 0.909737, rel=1e-6)
    whole = _defaults("0.5.12", 97887, "--language-only", config=QWEN36_27B)
    assert whole.fraction == 0.863


def test_latent_attention_sets_more_aside_for_prefill_graphs() -> None:
    assert _defaults("0.5.12", 183359, config=DEEPSEEK_V3).graphs >> 20 == 2 * 512 + 1536
    assert _defaults("0.5.12", 183359, "--disable-piecewise-cuda-graph", config=DEEPSEEK_V3).graphs >> 20 == 1024


def test_a_small_context_means_fewer_prefill_graphs_in_0_5_13() -> None:
    assert _defaults("0.5.13", 97887, "--context-length", "2048").prefill_graphs == 42
    assert _defaults("0.5.12", 97887, "--context-length", "2048").prefill_graphs == 58


def test_large_cards_set_at_least_ten_gib_aside() -> None:
    # 512 + 1.5 * 2048 + 2 * 24 + 128 + 8 * 42 = 4,096 MiB would do; cards above 60 GiB take 10,240.
    small = ("--chunked-prefill-size", "2048", "--cuda-graph-max-bs", "24")
    assert _defaults("0.5.12", 81559, *small).fraction == round((81559 - 10240) / 81559, 3) == 0.874
    assert _defaults("0.5.12", 46068, *small).fraction == round((46068 - 4096) / 46068, 3)


def test_a_chunk_of_any_size_is_counted_at_once() -> None:
    assert _defaults("0.5.23", 97887, "--chunked-prefill-size", "4600").prefill_graphs == 50
    assert _defaults("0.5.23", 97887, "--chunked-prefill-size", "5120").prefill_graphs == 52
    assert _defaults("0.5.23", 97887, "--chunked-prefill-size", str(1 << 62)).prefill_graphs > 1 << 50

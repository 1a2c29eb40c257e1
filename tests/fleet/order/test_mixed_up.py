"""``--gpu`` in place of ``--gpus``, and options of a rehearsal in a real launch: what was meant is said."""

from __future__ import annotations

import pytest

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.fleet_file import parse_fleet_file
from sm120kit.fleet.order.make_order import make_order
from sm120kit.fleet.order.print_config import print_config


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"gpus": "rtx-pro-6000x8"}, "--gpus all, or --gpus 0,2|--rehearse --gpu rtx-pro-6000x8"),
        ({"gpus": "0, rtx-5090", "rehearse": True}, "rtx-5090 is a kind of GPU"),
        ({"gpu": "rtx-5090"}, "--rehearse is missing|sm120kit launch --rehearse --gpu rtx-5090|--gpus 0,2"),
        ({"gpu": "rtx-pro-6000x8"}, "--rehearse is missing"),
        ({"gpu": "0,1", "rehearse": True}, "0,1 is none|--gpus 0,1"),
        ({"weights_gib": 51.0}, "--weights-gib is for a rehearsal|Add --rehearse"),
        ({"sglang": "0.5.12"}, "--sglang is for a rehearsal"),
        ({"load_s": 1.0}, "--load-s is for a rehearsal"),
        ({"fault": ("hang",)}, "--fault goes with --rehearse alone|Add --rehearse"),
    ],
)
def test_what_was_meant_is_said(given: dict[str, object], said: str) -> None:
    with pytest.raises(Sm120kitError) as refused:
        make_order(given)
    whole = f"{refused.value.message}\n{refused.value.hint}"
    assert not [part for part in said.split("|") if part not in whole], whole
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("gpus", ["all", "none", "0,2", "12", "GPU-abc,GPU-def", "MIG-1", "nonsense", ",", "0,"])
def test_what_names_gpus_that_are_there_is_left_to_them(gpus: str) -> None:
    assert make_order({"gpus": gpus}).gpus == gpus


def test_a_file_may_hold_what_a_rehearsal_of_it_takes() -> None:
    file = parse_fleet_file(print_config().replace("weights-gib = 0", "weights-gib = 51.5"), "fleet.toml")
    assert make_order({}, (), file).rehearsal.weights_gib == 51.5
    assert make_order({"rehearse": True, "gpu": "rtx-5090"}, (), file).rehearsal.weights_gib == 51.5

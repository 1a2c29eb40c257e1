"""``--gpus`` chooses among the GPUs that are there, ``--gpu`` names those that a rehearsal simulates: says which was
meant where one stands in the other's place, or an option of a rehearsal in a real launch. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.options import Option
from sm120kit.fleet.order.order import Order
from sm120kit.text import visible

_INDICES = re.compile(r"\d{1,2}(\s*,\s*\d{1,2})*,?")


def refuse_mixed_up(order: Order, typed: Sequence[Option]) -> None:
    """``typed``: the options that stand on the command line; a file may hold those of a rehearsal for another time.

    Raises:
        Sm120kitError: with the line that was meant; exit code 2.
    """
    kind = next((each for each in order.gpus.split(",") if _is_kind(each.strip())), "")
    if kind:
        simulated = f"--rehearse --gpu {visible(order.gpus.strip())}"
        raise Sm120kitError(
            f"--gpus chooses among the GPUs that are there, by index or UUID, and {visible(kind.strip())} is a kind of "
            "GPU",
            hint=f"To choose: --gpus all, or --gpus 0,2. To rehearse on simulated ones: {simulated}",
        )
    simulated = order.rehearsal.gpu.strip()
    if order.rehearse:
        if _INDICES.fullmatch(simulated):
            raise Sm120kitError(
                f"--gpu names the kind of GPU that a rehearsal simulates, and {simulated} is none",
                hint=f"Name one, as in --gpu rtx-pro-6000x8; to choose among those: --gpus {simulated}",
            )
        return
    if order.rehearsal.faults:
        raise Sm120kitError(
            "--fault goes with --rehearse alone: real servers fail by themselves",
            hint="Add --rehearse, or leave it out",
        )
    option = next((each for each in typed if each.key.startswith("rehearsal.")), None)
    if option is None:
        return
    if option.key == "rehearsal.gpu":
        raise Sm120kitError(
            "--gpu names the GPUs that a rehearsal simulates, and this is none: --rehearse is missing",
            hint=f"To rehearse: sm120kit launch --rehearse --gpu {visible(simulated)}. To start real servers leave it "
            "out: they take all GPUs that are there, or those that --gpus names, as in --gpus 0,2",
        )
    raise Sm120kitError(
        f"{option.flag} is for a rehearsal, and this is none: --rehearse is missing",
        hint="Add --rehearse, or leave it out",
    )


def _is_kind(name: str) -> bool:
    """Whether a word for ``--gpus`` names a kind of GPU."""
    if not name or name.isdigit() or name.lower() in ("all", "none") or re.match(r"(gpu|mig)-", name, re.IGNORECASE):
        return False
    from sm120kit.diagnosis.hardware import parse_gpus

    try:
        parse_gpus(name)
    except Sm120kitError:
        return False
    return True

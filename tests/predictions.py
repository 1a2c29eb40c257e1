"""Capacity predictions made by hand for data cases: 16 of 16 requests on a card of 96 GiB, changed by naming fields."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from sm120kit.diagnosis.capacity import CapacityPrediction, CardSize
from sm120kit.snapshot.facts import Known, Source

GIB = 1 << 30

RTX_PRO_6000 = CardSize("rtx-pro-6000", 8, 97887 << 20)
RTX_5090 = CardSize("rtx-5090", 1, 32607 << 20)
WITHOUT_SIZE = CardSize("gb10", 1, 0)

_GOOD = CapacityPrediction(
    version="0.5.12",
    formulas="wheel of sglang 0.5.12",
    requested=16,
    granted=16,
    best=37,
    tokens=251_509,
    tokens_each=6797,
    free_before=94 * GIB,
    weights=51 * GIB,
    draft_weights=0,
    pools=29 * GIB,
    graphs=GIB,
    left=13 * GIB,
    fraction=0.85,
    fraction_given=True,
    cards=(RTX_PRO_6000,),
)


def predicted(**changed: Any) -> Known[CapacityPrediction]:
    """The prediction with these fields changed."""
    return Known(replace(_GOOD, **changed), Source("option", "the launch line"))

"""What is known of a fleet before its start and must stand beside its result: a model that is not there, and requests
that are granted and do not fit. Pure."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sm120kit.capacity.types import Plan
from sm120kit.fleet.preparation.forecast import Forecast
from sm120kit.fleet.preparation.model_place import ModelPlace


def remarks_of(place: ModelPlace, forecasts: Sequence[Forecast], *, rehearsal: bool) -> tuple[str, ...]:
    """Sentences without full stop, each once."""
    found = [missing_model(place)] if rehearsal and place.kind == "nothing" else []
    found += [text for each in forecasts if each.plan and (text := crowded(each.plan))]
    return tuple(dict.fromkeys(found))


def missing_model(place: ModelPlace) -> str:
    """What a rehearsal of a path that is not there is worth."""
    path = os.path.abspath(os.path.expanduser(place.name))
    return f"there is no model at {path}: stand-ins of no model at all are rehearsed, and no memory is planned"


def crowded(plan: Plan) -> str:
    """How many of the granted requests fit, where that is fewer; empty where all do, or nobody asked for a number."""
    predicted = plan.predicted
    if plan.requested is None or predicted.failure or predicted.together >= predicted.granted:
        return ""
    return (
        f"a server grants {predicted.granted}, and its pool has room for {predicted.together} of "
        f"{predicted.tokens_each:,} tokens each: the others are taken back and wait"
    )

"""Cases of capacity.requested-not-granted."""

from sm120kit.diagnosis.capacity import SUBJECT
from sm120kit.snapshot.facts import Unknown
from tests.builders import snapshot
from tests.cases.harness import (
    a_warning,
    broken,
    healthy,
    look_alike,
    not_applicable,
    unknown,
    with_capacity,
)
from tests.predictions import predicted

CHECK = "capacity.requested-not-granted"

CASES = [
    with_capacity(healthy("16 of 16", snapshot()), predicted()),
    with_capacity(
        broken(
            "16 of 128",
            snapshot(),
            a_warning(SUBJECT, "128 requests", "will grant 16", "81 states serve 16", "wheel of sglang 0.5.12"),
        ),
        predicted(requested=128, granted=16, best=47, explanation="81 states serve 16 requests"),
    ),
    with_capacity(
        broken("a dense model, cut by its pool", snapshot(), a_warning(SUBJECT, "the pool of 251,509 tokens")),
        predicted(requested=4000, granted=2048, best=122),
    ),
    with_capacity(look_alike("nothing was asked for", snapshot()), predicted(requested=None, granted=12, best=12)),
    with_capacity(
        look_alike("less was asked for than would be granted", snapshot()), predicted(requested=4, granted=4)
    ),
    with_capacity(
        look_alike("it will not start at all", snapshot()),
        predicted(requested=64, granted=0, best=0, failure="no memory is left for keys and values"),
    ),
    with_capacity(unknown("the model is not known", snapshot()), Unknown("what it keeps in memory is not known here")),
    not_applicable("no launch line", snapshot()),
]

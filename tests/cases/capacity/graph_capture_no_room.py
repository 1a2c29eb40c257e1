"""Cases of capacity.graph-capture-no-room."""

from sm120kit.diagnosis.capacity import SUBJECT
from sm120kit.snapshot.facts import Unknown
from tests.builders import snapshot
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown, with_capacity
from tests.predictions import GIB, predicted

CHECK = "capacity.graph-capture-no-room"

CASES = [
    with_capacity(healthy("13 GiB stay free", snapshot()), predicted()),
    with_capacity(
        broken(
            "a fraction of 0.995",
            snapshot(),
            an_error(SUBJECT, "static fraction of 0.995", "0.50 GiB are missing", "graphs take about 1.00 GiB"),
        ),
        predicted(fraction=0.995, left=-GIB // 2),
    ),
    with_capacity(
        broken("the draft model is loaded after the pools", snapshot(), an_error(SUBJECT, "draft model 15.00 GiB")),
        predicted(draft_weights=15 * GIB, left=-2 * GIB),
    ),
    with_capacity(look_alike("it fits to the last byte", snapshot()), predicted(left=0)),
    with_capacity(
        look_alike("it does not even get there", snapshot()),
        predicted(left=-60 * GIB, granted=0, failure="no memory is left for keys and values"),
    ),
    with_capacity(unknown("nothing is known of this version", snapshot()), Unknown("SGLang 0.5.14 is not known here")),
    not_applicable("no launch line", snapshot()),
]

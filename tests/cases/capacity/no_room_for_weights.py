"""Cases of capacity.no-room-for-weights."""

from sm120kit.diagnosis.capacity import SUBJECT
from sm120kit.snapshot.facts import Unknown
from tests.builders import snapshot
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown, with_capacity
from tests.predictions import GIB, predicted

CHECK = "capacity.no-room-for-weights"

_NO_TOKENS = "no memory is left for keys and values"

CASES = [
    with_capacity(healthy("there is room", snapshot()), predicted()),
    with_capacity(
        broken(
            "the weights are larger than the card",
            snapshot(),
            an_error(SUBJECT, "will not start", _NO_TOKENS, "weights of 140.00 GiB", "0.850 of it may be used"),
        ),
        predicted(weights=140 * GIB, granted=0, best=0, failure=_NO_TOKENS),
    ),
    with_capacity(
        broken("SGLang's own fraction leaves too little", snapshot(), an_error(SUBJECT, "SGLang's own choice")),
        predicted(weights=80 * GIB, granted=0, best=0, failure=_NO_TOKENS, fraction_given=False),
    ),
    with_capacity(
        broken("drafting takes all states", snapshot(), an_error(SUBJECT, "4 states serve no request")),
        predicted(granted=0, best=9, failure="4 states serve no request: each is counted 5"),
    ),
    with_capacity(look_alike("one request is little, and enough", snapshot()), predicted(granted=1, requested=64)),
    with_capacity(unknown("a safetensors file is cut off", snapshot()), Unknown("model.safetensors is cut off")),
    not_applicable("no launch line", snapshot()),
]

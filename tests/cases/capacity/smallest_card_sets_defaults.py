"""Cases of capacity.smallest-card-sets-defaults."""

from sm120kit.diagnosis.capacity import SUBJECT
from sm120kit.snapshot.facts import Unknown
from tests.builders import snapshot
from tests.cases.harness import a_warning, broken, healthy, look_alike, not_applicable, unknown, with_capacity
from tests.predictions import RTX_5090, RTX_PRO_6000, WITHOUT_SIZE, predicted

CHECK = "capacity.smallest-card-sets-defaults"

_OPEN = ("--mem-fraction-static", "--chunked-prefill-size")
_MIXED = (RTX_5090, RTX_PRO_6000)

CASES = [
    with_capacity(healthy("eight of a kind", snapshot()), predicted(left_to_card=_OPEN)),
    with_capacity(
        broken(
            "an RTX 5090 beside them",
            snapshot(),
            a_warning(
                SUBJECT, "rtx-5090 with 32,607 MiB", "--mem-fraction-static and --chunked-prefill-size", "97,887"
            ),
        ),
        predicted(left_to_card=_OPEN, cards=_MIXED),
    ),
    with_capacity(look_alike("mixed, and all is given", snapshot()), predicted(cards=_MIXED)),
    with_capacity(
        look_alike("two names for cards of one size", snapshot()),
        predicted(left_to_card=_OPEN, cards=(RTX_PRO_6000, RTX_PRO_6000)),
    ),
    with_capacity(
        unknown("one of them tells no size", snapshot()), predicted(left_to_card=_OPEN, cards=(WITHOUT_SIZE, RTX_5090))
    ),
    with_capacity(unknown("the model is not known", snapshot()), Unknown("not known here")),
    not_applicable("no launch line", snapshot()),
]

"""Cases of repair.view-stale."""

from sm120kit.snapshot.facts import Unknown
from tests.builders import CU13, live_view, snapshot
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "repair.view-stale"

CURRENT = live_view().value.current

CASES = [
    healthy("all sources are as they were", snapshot(live_view=live_view(in_use=True))),
    broken(
        "a package was upgraded",
        snapshot(live_view=live_view(in_use=True, changed=(f"{CU13}/nvvm/bin/cicc",))),
        a_warning(CURRENT, "may mix CUDA releases", f"{CU13}/nvvm/bin/cicc"),
    ),
    broken(
        "a package was removed",
        snapshot(live_view=live_view(in_use=True, gone=(f"{CU13}/bin/nvcc",))),
        an_error(CURRENT, "cannot compile any more", "not there any more"),
    ),
    look_alike("not in use, but whole", snapshot(live_view=live_view())),
    unknown("its manifest cannot be read", snapshot(live_view=live_view(manifest=Unknown("no such file")))),
    not_applicable("never repaired", snapshot()),
]

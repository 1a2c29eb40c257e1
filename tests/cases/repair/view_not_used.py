"""Cases of repair.view-not-used."""

from msgspec.structs import replace

from tests.builders import CU13, live_view, named, sglang, snapshot, toolkit, torch_extensions
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable

CHECK = "repair.view-not-used"

CURRENT = live_view().value.current
_BROKEN = toolkit(cccl=None)

CASES = [
    healthy("the view is in use", snapshot(live_view=live_view(in_use=True), environment={"CUDA_HOME": CURRENT})),
    broken(
        "SGLang would take the former toolkit",
        snapshot(live_view=live_view(), toolkits=(_BROKEN,), consumers=(sglang(),), environment={"CUDA_HOME": CU13}),
        an_error(CURRENT, f"CUDA_HOME is {CU13}"),
    ),
    broken(
        "no variable is set, and only torch is here",
        snapshot(live_view=live_view(), consumers=(torch_extensions(),)),
        a_warning(CURRENT, "neither CUDA_HOME nor CUDA_PATH is set"),
    ),
    broken(
        "the toolkit that was repaired is named",
        named(live_view=live_view(), toolkits=(_BROKEN,)),
        an_error(CURRENT, "does not use it"),
    ),
    look_alike(
        "another toolkit was named on purpose",
        named("/usr/local/cuda-13.0", live_view=live_view(), toolkits=(toolkit("/usr/local/cuda-13.0"),)),
    ),
    look_alike(
        "the view's sources are gone, which is another finding",
        snapshot(live_view=live_view(gone=(f"{CU13}/bin/nvcc",)), environment={"CUDA_HOME": CU13}),
    ),
    not_applicable("never repaired", replace(snapshot(), environment={"CUDA_HOME": CU13})),
]

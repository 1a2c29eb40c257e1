"""Cases of repair.view-stale."""

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.toolkits import GoneFile
from tests.builders import CU13, live_view, snapshot, toolkit
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
        an_error(CURRENT, "leads to files that are gone, which every compile needs", "not there any more"),
    ),
    broken(
        "a link of its own was removed",
        snapshot(live_view=live_view(in_use=True, gone=(f"{live_view().value.path}/lib64/libcudart.so",))),
        an_error(CURRENT, "lacks paths of its own, which every compile needs", "lib64/libcudart.so"),
    ),
    broken(
        "a library was removed that only some modules link with",
        snapshot(live_view=live_view(in_use=True, lacking=(f"{CU13}/lib/libcurand.so.10",))),
        a_warning(CURRENT, "what needs them does not compile or link", "libcurand.so.10"),
    ),
    broken(
        "a header is gone from the wheel behind it",
        snapshot(
            live_view=live_view(in_use=True),
            toolkits=(
                toolkit(gone_files=(GoneFile(f"{CU13}/include/crt/host_defines.h", "nvidia-cuda-crt 13.0.88", True),)),
            ),
        ),
        an_error(CURRENT, "leads to files that are gone", "host_defines.h"),
    ),
    look_alike("not in use, but whole", snapshot(live_view=live_view())),
    unknown("its manifest cannot be read", snapshot(live_view=live_view(manifest=Unknown("no such file")))),
    not_applicable("never repaired", snapshot()),
]

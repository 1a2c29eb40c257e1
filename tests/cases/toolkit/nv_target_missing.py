"""Cases of toolkit.nv-target-missing."""

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from tests.builders import CU13, flashinfer, known, live_view, named, sglang, snapshot, toolkit
from tests.cases.harness import a_note, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "toolkit.nv-target-missing"

_WITHOUT_CCCL = toolkit(cccl=None)
_WHOLE = toolkit()
_NV_BESIDE = replace(
    _WHOLE,
    cccl_copies=(
        replace(
            _WHOLE.cccl_copies[0],
            include_dir=f"{CU13}/include",
            version=known("3.0.1"),
            has_cuda_std=False,
            has_cub=False,
            has_thrust=False,
        ),
        replace(_WHOLE.cccl_copies[0], has_nv_target=False),
    ),
)

CASES = [
    healthy("a whole toolkit named", named()),
    healthy("a whole toolkit taken by SGLang's JIT", snapshot(consumers=(sglang(),))),
    broken(
        "no CCCL in the toolkit named",
        named(toolkits=(_WITHOUT_CCCL,)),
        an_error(CU13, f"{CU13}/include/cccl", "nvcc 13.0"),
    ),
    broken(
        "no CCCL, and FlashInfer 0.6.7 brings none",
        snapshot(toolkits=(_WITHOUT_CCCL,), consumers=(flashinfer("0.6.7.post2"),)),
        an_error(CU13, "used by flashinfer"),
    ),
    broken(
        "SGLang's JIT sees no copy although FlashInfer brings one",
        snapshot(toolkits=(_WITHOUT_CCCL,), consumers=(flashinfer("0.7.2.post1"), sglang())),
        an_error(CU13, "used by sglang"),
    ),
    look_alike(
        "FlashInfer 0.7.2 brings its own CCCL",
        snapshot(toolkits=(_WITHOUT_CCCL,), consumers=(flashinfer("0.7.2.post1"),)),
    ),
    look_alike("nv/target only in include/nv, as the wheel's second copy", named(toolkits=(_NV_BESIDE,))),
    broken(
        "a conda environment without cuda-cccl",
        snapshot(toolkits=(toolkit("/opt/conda", cccl=None, layout="conda"),), consumers=(sglang(home="/opt/conda"),)),
        an_error("/opt/conda", "/opt/conda/include/cccl"),
    ),
    broken(
        "CUDA_HOME names another toolkit than the one that was repaired, and the repair would serve in its place",
        snapshot(
            toolkits=(toolkit("/opt/cuda", cccl=None, layout="system"),),
            consumers=(sglang(home="/opt/cuda"),),
            live_view=live_view(),
        ),
        a_note("/opt/cuda", "/opt/cuda/include/cccl"),
    ),
    broken(
        "a variable of its own leads FlashInfer past the repair",
        snapshot(
            toolkits=(toolkit("/opt/cuda", cccl=None, layout="system"),),
            consumers=(flashinfer("0.6.7.post2", home=CU13, nvcc=known("/opt/cuda/bin/nvcc"), toolkit="/opt/cuda"),),
            live_view=live_view(),
        ),
        an_error("/opt/cuda", "used by flashinfer"),
    ),
    unknown(
        "nvcc.profile cannot be read",
        named(toolkits=(replace(_WITHOUT_CCCL, profile=Unknown("nvcc.profile cannot be read: Permission denied")),)),
    ),
    not_applicable("a toolkit that nobody takes", snapshot(toolkits=(_WITHOUT_CCCL,))),
    not_applicable("no toolkit", snapshot(toolkits=())),
]

"""Cases of toolkit.incomplete."""

from typing import Any

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.toolkits import GoneFile, Toolkit
from tests.builders import CU13, flashinfer, named, sglang, snapshot, toolkit, torch_extensions
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "toolkit.incomplete"

_SYSTEM = "/usr/local/cuda-13.0"
_CONDA = "/opt/conda/envs/serve"


def _without(*parts: str, **changes: Any) -> Toolkit:
    return toolkit(drop=parts, **changes)


def _gone(name: str, *, for_every_compile: bool = False) -> GoneFile:
    return GoneFile(f"{CU13}/{name}", "nvidia-cuda-runtime 13.0.96", for_every_compile)


_FP16 = _gone("include/cuda_fp16.h", for_every_compile=True)


def _lone_link() -> Toolkit:
    """bin/nvcc is a link into the system toolkit, and nothing else is there."""
    bare = toolkit("/srv/links", drop=tuple(part.name for part in toolkit().parts if part.name != "nvcc"), cccl=None)
    nvcc = replace(bare.parts[0], links_to=f"{_SYSTEM}/bin/nvcc")
    return replace(bare, parts=(nvcc,), profile=Unknown("no such file"), layout="unknown", include_dirs=())


CASES = [
    healthy("a whole wheel set named", named()),
    healthy(
        "a whole conda environment",
        snapshot(
            toolkits=(toolkit(_CONDA, layout="conda", releases={"cicc": None}),), consumers=(sglang(home=_CONDA),)
        ),
    ),
    look_alike("libcudart, which toolkit.cudart-unlinkable is about", named(toolkits=(_without("libcudart"),))),
    look_alike("CCCL, which toolkit.nv-target-missing is about", named(toolkits=(toolkit(cccl=None),))),
    look_alike(
        "torch's runtime wheels beside a whole system toolkit",
        snapshot(
            toolkits=(toolkit(_SYSTEM, layout="system"), _without("nvcc", "cicc", "ptxas", "crt")),
            consumers=(sglang(home=_SYSTEM),),
        ),
    ),
    broken(
        "CUDA_HOME of an image names a toolkit without cicc, and nothing is installed that takes it",
        snapshot(toolkits=(_without("cicc"),), environment={"CUDA_HOME": f"{CU13}/"}),
        a_warning(CU13, "named by CUDA_HOME", "cicc: not found"),
    ),
    look_alike(
        "a toolkit without cicc lies on disk, and CUDA_HOME names a whole one",
        snapshot(toolkits=(_without("cicc"), toolkit(_SYSTEM, layout="system")), environment={"CUDA_HOME": _SYSTEM}),
    ),
    broken("no nvidia-nvvm", named(toolkits=(_without("cicc", "libdevice"),)), an_error(CU13, "cicc: not found")),
    broken("no nvidia-cuda-crt", named(toolkits=(_without("crt"),)), an_error(CU13, "crt/host_config.h", "nvcc 13.0")),
    broken(
        "no nvidia-cuda-runtime",
        named(
            toolkits=(_without("runtime-headers", "driver-header", "libcudart", "libcudart-static", "libcudadevrt"),)
        ),
        an_error(CU13, "cuda_runtime_api.h", "cuda.h", "cannot find -lcudadevrt"),
    ),
    broken("no ptxas", snapshot(toolkits=(_without("ptxas"),), consumers=(sglang(),)), an_error(CU13, "by sglang")),
    broken("no fatbinary", named(toolkits=(_without("fatbinary"),)), an_error(CU13, "fatbinary")),
    broken("no cudafe++", named(toolkits=(_without("cudafe++"),)), an_error(CU13, "cudafe++")),
    broken(
        "a copy of nvcc without its profile", named(toolkits=(_without("nvcc.profile"),)), an_error(CU13, "profile")
    ),
    broken(
        "all that is missing, at once",
        named(toolkits=(_without("cicc", "crt", "nvlink"),)),
        an_error(CU13, "cicc is missing", "crt is missing", "nvlink is missing"),
    ),
    broken(
        "a lone link to nvcc",
        snapshot(
            toolkits=(_lone_link(), toolkit(_SYSTEM, layout="system")), consumers=(flashinfer(home="/srv/links"),)
        ),
        an_error("/srv/links", f"only a link into {_SYSTEM}", "/srv/links/bin/nvcc.profile"),
    ),
    broken("no libdevice alone: nvcc 13 carries its own", named(toolkits=(_without("libdevice"),)), a_warning(CU13)),
    broken("no nvlink: nvcc -c passes", named(toolkits=(_without("nvlink"),)), a_warning(CU13, "nvlink: not found")),
    broken(
        "no static libraries",
        named(toolkits=(_without("libcudart-static", "libcudadevrt"),)),
        a_warning(CU13, "-lcudart_static", "-lcudadevrt"),
    ),
    broken(
        "only torch extensions are built with it",
        snapshot(toolkits=(_without("cicc"),), consumers=(torch_extensions(),)),
        a_warning(CU13, "cicc"),
    ),
    broken(
        "a header that every compile reads is gone",
        named(toolkits=(toolkit(gone_files=(_FP16,)),)),
        an_error(CU13, "has lost cuda_fp16.h", "nvidia-cuda-runtime 13.0.96"),
    ),
    broken(
        "with --deep: many files are gone that some modules read",
        named(toolkits=(toolkit(gone_files=tuple(_gone(f"include/cub/{number}.cuh") for number in range(12))),)),
        a_warning(CU13, "has lost 0.cuh, 1.cuh, 2.cuh and 9 more files", "4 more files that RECORDs list are gone"),
    ),
    broken(
        "a header and a part are gone",
        named(toolkits=(_without("cicc", gone_files=(_FP16,)),)),
        an_error(CU13, "cicc is missing", "cuda_fp16.h", "nvidia-cuda-runtime 13.0.96 lists it"),
    ),
    unknown(
        "nvcc.profile cannot be read",
        named(toolkits=(_without("cicc", profile=Unknown("/nvcc.profile cannot be read: Permission denied")),)),
    ),
    not_applicable("an incomplete tree that nobody takes", snapshot(toolkits=(_without("cicc"),))),
    not_applicable("a runtime", named(toolkits=(_without("nvcc", "cicc"),))),
]

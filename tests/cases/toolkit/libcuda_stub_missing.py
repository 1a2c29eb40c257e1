"""Cases of toolkit.libcuda-stub-missing."""

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.snapshot import Snapshot, Target
from sm120kit.snapshot.types.toolkits import Nvcc
from tests.builders import CU13, driver, known, named, no_driver, probe, sglang, snapshot, toolkit
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "toolkit.libcuda-stub-missing"

SYSTEM = "/usr/local/cuda-13.0"
WRAPPED = sglang(home=SYSTEM, cuda_home=known("/usr/local"), nvcc=known("/usr/local/bin/nvcc"))

_WHEELS = toolkit(link_names=("lib64/libcudart.so",))
_NOT_FOUND = probe(missing=("cuda",))
_COMPAT = driver(
    libcuda=known(("/usr/local/cuda-13.0/compat/libcuda.so.580.95.05",)),
    libcuda_links=("/usr/local/cuda-13.0/compat/libcuda.so.1",),
)


def _image(cuda_home: str = "") -> Snapshot:
    base = snapshot(
        toolkits=(_WHEELS,),
        consumers=(sglang(),),
        link_probes=(probe(missing=("cuda",), asked=False),),
        driver=no_driver(),
    )
    return replace(base, target=Target("root", "/", "--root", root="/tmp/image", cuda_home=cuda_home, live=False))


CASES = [
    healthy("the stub is found", named()),
    broken(
        "the driver's library is there under its runtime name only",
        named(toolkits=(_WHEELS,), link_probes=(_NOT_FOUND,)),
        an_error(
            CU13,
            "/usr/bin/ld: cannot find -lcuda: No such file or directory",
            f"{CU13}/lib64/stubs/libcuda.so",
            "/usr/lib/x86_64-linux-gnu/libcuda.so.1 only",
        ),
    ),
    broken(
        "no stub and no driver",
        snapshot(toolkits=(_WHEELS,), consumers=(sglang(),), link_probes=(_NOT_FOUND,), driver=no_driver()),
        an_error(CU13, "has no stub for it, and no driver's is there"),
    ),
    broken(
        "only a compatibility package's libcuda.so.1: not one to link against",
        named(toolkits=(_WHEELS,), link_probes=(_NOT_FOUND,), driver=_COMPAT),
        an_error(CU13, "and no driver's is there"),
    ),
    broken(
        "a wrapper script sends the linker to /usr/local",
        snapshot(
            toolkits=(toolkit(SYSTEM, layout="system"),),
            consumers=(WRAPPED,),
            link_probes=(probe("/usr/local", ("cudart", "cuda"), consumers=("sglang",)),),
        ),
        an_error("/usr/local", "/usr/local/lib64", f"the compiler comes from {SYSTEM}"),
    ),
    broken("an image being built", _image(), a_warning(CU13, "judged by file names, no linker was asked")),
    broken("an image being built, toolkit named", _image(CU13), a_warning(CU13)),
    broken(
        "the wrapper's folder goes as a name of the tree behind it",
        snapshot(
            toolkits=(toolkit(SYSTEM, layout="system", aliases=("/usr/local", "/usr/local/cuda")),),
            consumers=(WRAPPED,),
            link_probes=(probe("/usr/local", ("cudart", "cuda"), consumers=("sglang",)),),
        ),
        an_error("/usr/local", f"the compiler comes from {SYSTEM}"),
    ),
    broken(
        "CUDA_HOME names a folder with a wrapper of its own",
        snapshot(
            toolkits=(toolkit("/opt/shim", layout="system", real_home=SYSTEM),),
            consumers=(sglang(home="/opt/shim"),),
            link_probes=(probe("/opt/shim", ("cudart", "cuda"), consumers=("sglang",)),),
            nvcc_on_path=(Nvcc("/opt/shim/bin/nvcc", "/opt/shim/bin/nvcc", "script", f"{SYSTEM}/bin/nvcc"),),
        ),
        an_error("/opt/shim", f"the compiler comes from {SYSTEM}"),
    ),
    broken(
        "another name of the same tree is not a wrapper",
        snapshot(
            toolkits=(toolkit(SYSTEM, layout="system", aliases=("/usr/local/cuda",), link_names=()),),
            consumers=(sglang(home=SYSTEM, cuda_home=known("/usr/local/cuda")),),
            link_probes=(probe("/usr/local/cuda", ("cudart", "cuda"), consumers=("sglang",)),),
        ),
        an_error(SYSTEM),
    ),
    look_alike("libcudart is what is missing", named(link_probes=(probe(missing=("cudart",)),))),
    look_alike(
        "no stub in the toolkit, and the linker finds the driver's libcuda.so in its own folders",
        named(toolkits=(_WHEELS,), link_probes=(probe(),)),
    ),
    unknown(
        "the linker did not answer",
        named(link_probes=(replace(probe(), missing=Unknown("c++ did not answer within 5 s")),)),
    ),
    not_applicable("no toolkit", snapshot(toolkits=(), link_probes=())),
]

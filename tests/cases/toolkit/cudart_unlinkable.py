"""Cases of toolkit.cudart-unlinkable."""

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.toolkits import Nvcc
from tests.builders import (
    CU13,
    distribution,
    flashinfer,
    known,
    named,
    probe,
    sglang,
    snapshot,
    toolkit,
    torch_extensions,
)
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "toolkit.cudart-unlinkable"

SYSTEM = "/usr/local/cuda-13.0"

_WHEELS = toolkit(link_names=())
_NOT_FOUND = probe(missing=("cudart", "cuda"))
_JIT_CACHE = known(
    (distribution("flashinfer-jit-cache", "0.7.2.post1+cu130"), distribution("flashinfer-python", "0.7.2.post1"))
)
WRAPPED = sglang(
    home=SYSTEM, cuda_home=known("/usr/local"), nvcc=known("/usr/local/bin/nvcc"), found_via="nvcc on PATH"
)
_LINES_OF_ONE = replace(probe(missing=("cudart",), consumers=("torch.utils.cpp_extension",)))

CASES = [
    healthy("every name is found", named()),
    healthy("SGLang's line finds every name", snapshot(consumers=(sglang(),))),
    broken(
        "the wheels of CUDA 13.0 as pip lays them",
        named(toolkits=(_WHEELS,), link_probes=(_NOT_FOUND,)),
        an_error(
            CU13,
            "/usr/bin/ld: cannot find -lcudart: No such file or directory",
            f"-L{CU13}/lib64",
            f"{CU13}/lib/libcudart.so.13, and the linker looks for {CU13}/lib64/libcudart.so",
            "nvidia-cuda-runtime 13.0",
        ),
    ),
    broken(
        "lib64 is there and holds the library with its version only",
        snapshot(
            toolkits=(toolkit(link_names=("lib64/stubs/libcuda.so",)),),
            consumers=(sglang(),),
            link_probes=(probe(missing=("cudart",), consumers=("sglang",)),),
        ),
        an_error(CU13, "the linker, as sglang calls it,", "has a version in its name"),
    ),
    broken(
        "no libcudart at all in a system toolkit",
        named(
            SYSTEM,
            toolkits=(toolkit(SYSTEM, layout="system", drop=("libcudart",), link_names=()),),
            link_probes=(probe(SYSTEM, ("cudart",)),),
        ),
        an_error(SYSTEM, "holds no libcudart at all"),
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
    broken(
        "judged by names where no linker can be asked",
        named(toolkits=(_WHEELS,), link_probes=(probe(missing=("cudart",), asked=False),)),
        an_error(CU13, "judged by file names, no linker was asked"),
    ),
    broken(
        "a prebuilt cache spares FlashInfer the compiler: only modules outside it fail",
        snapshot(
            toolkits=(_WHEELS,),
            consumers=(flashinfer(),),
            distributions=_JIT_CACHE,
            link_probes=(probe(missing=("cudart",), consumers=("flashinfer",)),),
        ),
        a_warning(CU13, "the linker, as flashinfer calls it,"),
    ),
    broken(
        "torch's line fails where SGLang's does not",
        snapshot(consumers=(sglang(), torch_extensions()), link_probes=(probe(consumers=("sglang",)), _LINES_OF_ONE)),
        a_warning(CU13, "the linker, as torch.utils.cpp_extension calls it,"),
    ),
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
    look_alike("another library is missing", named(link_probes=(probe(missing=("cuda",)),))),
    look_alike(
        "LIBRARY_PATH makes up for a tree without lib64: the linker was asked and found it",
        named(toolkits=(_WHEELS,), link_probes=(probe(),)),
    ),
    look_alike(
        "a tree that nobody takes fails, the one taken does not",
        snapshot(
            toolkits=(toolkit(), toolkit(SYSTEM, layout="system", link_names=())),
            consumers=(sglang(),),
            link_probes=(probe(), probe(SYSTEM, ("cudart",))),
        ),
    ),
    unknown(
        "the linker did not answer",
        named(link_probes=(replace(probe(), missing=Unknown("c++ did not answer within 5 s")),)),
    ),
    not_applicable("a runtime without nvcc", named(toolkits=(toolkit(drop=("nvcc",), link_names=()),))),
    not_applicable("no toolkit", snapshot(toolkits=(), link_probes=())),
]

"""Which rungs prove a toolkit for the consumers that take it: pure, from the snapshot.

Each rung finds what the cheaper ones cannot: links find missing library names; preprocessing missing or
mismatched headers; compiling a launch macro or PTX version that does not fit; cub a mixed CCCL, which the small
headers do not show.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from sm120kit.diagnosis.architectures import release_supports
from sm120kit.diagnosis.case import Case, Use
from sm120kit.diagnosis.releases import Release
from sm120kit.proof import load_child
from sm120kit.proof.types import Rung
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.toolkits import Consumer

_KERNEL = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda/std/type_traits>
__global__ void scale(const __half* from, __nv_bfloat16* to, float by, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  static_assert(cuda::std::is_same<int, decltype(count)>::value, "");
  if (at < count) to[at] = __float2bfloat16(__half2float(from[at]) * by);
}
void launch(const __half* from, __nv_bfloat16* to, float by, int count) {
  scale<<<(count + 255) / 256, 256>>>(from, to, by, count);
}
"""

_PROBE = """#include <{header}>
int sm120kit_read_to_its_end();
"""

_CUB_PROBE = """#include <cub/cub.cuh>
#include <thrust/version.h>
#include <cuda/std/version>
#if defined(CCCL_VERSION) && (CUB_VERSION / 100 != CCCL_VERSION / 1000 || THRUST_VERSION / 100 != CCCL_VERSION / 1000)
#error "cub, thrust and cuda/std are of different CCCL versions"
#endif
int sm120kit_read_to_its_end();
"""
"""CUB_VERSION and THRUST_VERSION are MMMmmmpp, CCCL_VERSION is MMMmmmppp; patches may differ."""

_LINKED = """extern "C" int cudaGetDeviceCount(int*);
extern "C" int cuInit(unsigned int);
int both(int* count) { return cuInit(0) + cudaGetDeviceCount(count); }
"""

_LINKED_RUNTIME = """extern "C" int cudaGetDeviceCount(int*);
int one(int* count) { return cudaGetDeviceCount(count); }
"""

DEFAULT_CAPABILITY = "12.0"


def architectures(case: Case, use: Use) -> tuple[tuple[str, ...], str]:
    """What to compile for (``sm_120a``), and why: every GPU's compute capability, newest first, else SM120's."""
    nvcc = use.toolkit.part("nvcc")
    release = Release.of(nvcc.release) if nvcc else None
    known = case.compute_capabilities
    if isinstance(known, Known):
        capabilities = sorted(known.value, key=lambda each: Release.parse(each) or Release(0, 0), reverse=True)
        why = f"compute capability {' and '.join(capabilities)} ({known.source.where})"
        return tuple(_target(release, each) for each in capabilities), why
    why = f"no GPU is known here, so compute capability {DEFAULT_CAPABILITY}"
    return (_target(release, DEFAULT_CAPABILITY),), why


def _target(release: Release | None, capability: str) -> str:
    """``sm_120a`` where this compiler has the form for exactly that chip, else ``sm_120``."""
    number = "sm_" + capability.replace(".", "")
    specific = float(capability) >= 9 if release is None else release_supports(release, f"{capability}a")
    return f"{number}a" if specific else number


def ladder(case: Case, use: Use) -> tuple[Rung, ...]:
    """All rungs for one judged toolkit: each distinct set of flags once."""
    targets, _ = architectures(case, use)
    rungs: list[Rung] = list(_link_rungs(use))
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for consumer in _askers(use):
        groups.setdefault(_compile_flags(consumer, use), []).append(consumer.name if consumer else "")
    for (nvcc, flags, own), names in groups.items():
        consumers = tuple(name for name in names if name)
        rungs += _compile_rungs(nvcc, flags, own, targets, consumers, use)
    rungs.append(_load_rung())
    return tuple(rungs)


def _askers(use: Use) -> tuple[Consumer | None, ...]:
    """Whose flags are tried; ``None`` = those of a plain JIT consumer, for a toolkit that is named and whose own CCCL
    nobody here reads."""
    unread = all(consumer.bundled_cccl is not None for consumer in use.consumers)
    return (*use.consumers, None) if unread and (use.named or not use.consumers) else use.consumers


_HEADERS = (
    ("preprocess-fp16", _PROBE.format(header="cuda_fp16.h"), "__float2half", 0.4,
     "half precision headers and nv/target are found"),
    ("preprocess-cuda-std", _PROBE.format(header="cuda/std/type_traits"), "is_same", 0.6,
     "runtime headers are of the compiler's release"),
    ("cub", _CUB_PROBE, "DeviceRadixSort", 5.0, "CCCL is whole and of one version"),
)  # fmt: skip
"""Name, source, a word that the header brings, CPU seconds, and what a pass shows."""


def _compile_rungs(
    nvcc: str,
    flags: Sequence[str],
    own: tuple[str, ...],
    targets: tuple[str, ...],
    consumers: tuple[str, ...],
    use: Use,
) -> Iterator[Rung]:
    gencode = [f"-gencode=arch=compute_{each.removeprefix('sm_')},code={each}" for each in targets]
    tools = tuple(part.path for part in use.toolkit.parts if part.name in _TOOLS)
    include_dirs = (*own, *use.toolkit.include_dirs)
    for name, source, word, cost, shows in _HEADERS:
        yield Rung(
            name=name,
            consumers=consumers,
            shows=shows,
            command=(nvcc, *flags, gencode[0], "-E", "{scratch}/probe.cu", "-o", "{scratch}/probe.ii"),
            sources={"probe.cu": source},
            cost=cost,
            output="probe.ii",
            holds=(word, "sm120kit_read_to_its_end"),
            tools=tools,
            include_dirs=include_dirs,
            host_compilers=("nvcc",),
        )
    yield Rung(
        name="compile",
        consumers=consumers,
        shows=f"a kernel compiles and assembles for {' and '.join(targets)}",
        command=(
            *(nvcc, *flags, *gencode, "-c", "{scratch}/kernel.cu", "-o", "{scratch}/kernel.o"),
            *("-MD", "-MF", "{scratch}/kernel.d"),
        ),
        sources={"kernel.cu": _KERNEL},
        cost=6.0 * len(targets),
        output="kernel.o",
        machine_code=tuple(int(each.removeprefix("sm_").rstrip("a")) for each in targets),
        tools=tools,
        include_dirs=include_dirs,
        host_compilers=("nvcc",),
    )


_TOOLS = ("nvcc", "nvcc.profile", "cicc", "ptxas", "fatbinary", "cudafe++", "libdevice")


def _compile_flags(consumer: Consumer | None, use: Use) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The nvcc that a consumer runs, its include and language flags in its own order, and the folders among them."""
    common = ("-std=c++17", "-Xcompiler", "-fPIC", "--expt-relaxed-constexpr")
    if consumer is None:
        nvcc = use.toolkit.part("nvcc")
        return (nvcc.path if nvcc else f"{use.toolkit.home}/bin/nvcc"), common, ()
    nvcc_path = consumer.nvcc.value if isinstance(consumer.nvcc, Known) else f"{use.toolkit.home}/bin/nvcc"
    home = consumer.cuda_home.value if isinstance(consumer.cuda_home, Known) else use.toolkit.home
    own = tuple(f"-I{folder}" for folder in consumer.include_dirs)
    system: list[str] = []
    if consumer.name == "flashinfer" and home != "/usr":
        system.append(f"{home}/include")
    if consumer.name == "flashinfer" and not consumer.uses_bundled_cccl_only:
        system.append(f"{home}/include/cccl")
    if consumer.name == "torch.utils.cpp_extension":
        system.append(f"{home}/include")
    flags = tuple(word for folder in system for word in ("-isystem", folder))
    return nvcc_path, (*own, *flags, *common), (*consumer.include_dirs, *system)


def _link_rungs(use: Use) -> Iterator[Rung]:
    for probe in use.probes:
        if "-shared" not in probe.command:
            continue
        # CXX may be several words: ccache g++ -m64.
        end = probe.command.index("-shared")
        compiler, rest = probe.command[:end], probe.command[end:]
        if not compiler:
            continue
        options = [each for each in rest if each.startswith(("-L", "-l", "-Wl"))]
        with_driver = "-lcuda" in options
        source = _LINKED if with_driver else _LINKED_RUNTIME
        yield Rung(
            name="link",
            consumers=probe.consumers,
            shows="the linker finds the CUDA libraries, and they hold what programs ask for",
            command=(
                *(*compiler, "-shared", "-fPIC", "-Wl,--no-as-needed", "-Wl,-z,defs", "{scratch}/linked.cpp"),
                *("-o", "{scratch}/linked.so", *options),
            ),
            sources={"linked.cpp": source},
            limit_s=30.0,
            cost=0.1,
            output="linked.so",
            host_compilers=("link",),
            needed=(r"libcudart\.so\.\d+", r"libcuda\.so\.1") if with_driver else (r"libcudart\.so\.\d+",),
        )


def _load_rung() -> Rung:
    return Rung(
        name="load",
        consumers=(),
        shows="the driver's library loads and starts",
        command=(sys.executable, "-I", "-S", load_child.__file__),
        limit_s=10.0,
        cost=0.05,
    )

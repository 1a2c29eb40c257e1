"""CUDA trees, their parts, those who take them and the compilers beside them, as plain data."""

from __future__ import annotations

from typing import Literal

from sm120kit.snapshot.facts import Fact
from sm120kit.snapshot.types.base import Struct


class Part(Struct, frozen=True):
    """One component of a toolkit: a tool, a set of headers, a library.

    ``release`` = the owning wheel's version where RECORD lists the file with its present size; else read from
    the file itself; else unknown.
    """

    name: str
    """One of :data:`PART_NAMES`."""
    path: str
    release: Fact[str]
    owner: str = ""
    """The wheel (``name version``) whose RECORD lists this file, whether or not its size fits."""
    altered: bool = False
    """True when RECORD lists the file with another size: it was overwritten after installation."""
    links_to: str = ""
    """For an nvcc that is a symbolic link: the file that it leads to. nvcc itself does not follow it."""


PART_NAMES = (
    "nvcc",
    "nvcc.profile",
    "cicc",
    "ptxas",
    "fatbinary",
    "cudafe++",
    "nvlink",
    "libdevice",
    "crt",
    "runtime-headers",
    "driver-header",
    "cccl",
    "libcudart",
    "libcudart-static",
    "libcudadevrt",
    "nvrtc",
)
"""Names of :class:`Part`. ``crt`` is include/crt/host_config.h, ``runtime-headers`` cuda_runtime_api.h,
``driver-header`` cuda.h, ``cccl`` the CCCL that the compiler finds first, ``libcudart`` the versioned library."""


class GoneFile(Struct, frozen=True):
    """A file that a wheel's RECORD lists and that is not there any more."""

    path: str
    owner: str
    """The wheel: ``name version``."""
    for_every_compile: bool = False
    """Whether it is one of :data:`COMPILE_HEADERS`."""


class CcclCopy(Struct, frozen=True):
    """One copy of CCCL (or of a part of it) in an include folder.

    ``version`` is CCCL_VERSION decoded (``3.0.1``), unknown where the copy has no version header.
    """

    include_dir: str
    version: Fact[str]
    has_nv_target: bool
    has_cuda_std: bool
    has_cub: bool
    has_thrust: bool
    owner: str = ""
    unowned_files: int = 0
    """Files of this copy that no wheel's RECORD lists, where a wheel owns others of it: the trace of an overlay.
    Counted in a few of its folders, so the true number may be higher."""


class HostCompilerLimits(Struct, frozen=True):
    """Newest host compilers that this toolkit's crt/host_config.h admits; 0 = no limit found."""

    gcc: int
    clang: int


class GlibcGuards(Struct, frozen=True):
    """Whether crt/math_functions.h adapts to newer glibc headers."""

    sinpi_cospi: bool
    """Needed with glibc 2.41 and later."""
    rsqrt: bool
    """Needed with glibc 2.42 and later."""


Layout = Literal["system", "wheel-cu12", "wheel-cu13", "conda", "distro", "view", "unknown"]
"""How a CUDA tree's folders lie: ``system`` is that of NVIDIA's installers, wherever the tree is."""


class Toolkit(Struct, frozen=True):
    """One CUDA tree. A tree without nvcc is a *runtime*, not a toolkit (``nvcc`` absent from ``parts``)."""

    home: str
    """Its most telling name (``--cuda-home`` as given, else CUDA_HOME, else where it was found); unique here."""
    real_home: str
    """Symbolic links resolved; unique here too: another name of the same tree is an alias."""
    layout: Layout
    found_via: tuple[str, ...]
    parts: tuple[Part, ...]
    include_dirs: tuple[str, ...]
    """What one nvcc run searches, in its order (-I of nvcc.profile, then -isystem; with what NVCC_PREPEND_FLAGS,
    NVCC_APPEND_FLAGS and CPATH add), existing or not. For a tree without nvcc, its own include folders."""
    library_dirs: tuple[str, ...]
    """-L folders of nvcc.profile, for nvcc as linker."""
    profile: Fact[str]
    """Text of nvcc.profile."""
    cccl_copies: tuple[CcclCopy, ...]
    """In the order of ``include_dirs``."""
    headers: tuple[str, ...]
    """Those of :data:`DEVELOPMENT_HEADERS` that ``include_dirs`` hold."""
    link_names: tuple[str, ...]
    """Files the linker could take, relative to home: lib64/libcudart.so, lib64/stubs/libcuda.so, …"""
    host_compiler_limits: Fact[HostCompilerLimits]
    glibc_guards: Fact[GlibcGuards]
    architectures: Fact[tuple[str, ...]]
    """Targets by ``nvcc --list-gpu-arch`` (``compute_120``), where nvcc was asked."""
    crt_launch_arguments: Fact[int]
    """Arguments of ``__cudaLaunch`` in crt/host_runtime.h: 2 in release 13.0, 1 in every other one (12.4 to 13.5).
    The crt headers carry no version, so this is what tells 13.0 from the rest whatever wheel claims them."""
    owners: tuple[str, ...] = ()
    """Wheels (``name version``) that put files below home."""
    aliases: tuple[str, ...] = ()
    """Other names of this tree, such as /usr/local/cuda for /usr/local/cuda-13.0, and folders whose bin/nvcc is a
    script that starts this tree's compiler."""

    gone_files: tuple[GoneFile, ...] = ()
    """What wheels put into this tree and is gone: those of :data:`COMPILE_HEADERS`, with ``--deep`` all."""

    def part(self, name: str) -> Part | None:
        """The component of that name, or ``None`` where this tree has no such file."""
        return next((part for part in self.parts if part.name == name), None)

    @property
    def has_nvcc(self) -> bool:
        """Whether this is a toolkit; else it is only a runtime."""
        return self.part("nvcc") is not None


DEVELOPMENT_HEADERS = (
    "cublasLt.h",
    "cublas_v2.h",
    "cufft.h",
    "curand.h",
    "curand_kernel.h",
    "cusolverDn.h",
    "cusparse.h",
    "nvrtc.h",
    "nvJitLink.h",
    "nvml.h",
    "cuda_profiler_api.h",
    "cudnn.h",
)


COMPILE_HEADERS = (
    "crt/common_functions.h", "crt/device_functions.h", "crt/device_functions.hpp", "crt/host_defines.h",
    "crt/math_functions.h", "crt/math_functions.hpp", "builtin_types.h", "channel_descriptor.h", "cuda_bf16.h",
    "cuda_bf16.hpp", "cuda_device_runtime_api.h", "cuda_fp16.h", "cuda_fp16.hpp", "cuda_fp8.h", "cuda_fp8.hpp",
    "cuda_runtime.h", "device_atomic_functions.h", "device_atomic_functions.hpp", "device_launch_parameters.h",
    "device_types.h", "driver_functions.h", "driver_types.h", "library_types.h", "sm_20_intrinsics.h",
    "sm_30_intrinsics.h", "sm_30_intrinsics.hpp", "sm_60_atomic_functions.h", "surface_indirect_functions.h",
    "surface_types.h", "texture_indirect_functions.h", "texture_types.h", "vector_functions.h", "vector_functions.hpp",
    "vector_types.h",
)  # fmt: skip
"""Headers without which no kernel of a server compiles: what nvcc 13.0.88 -M reads for one that includes cuda_fp16.h,
cuda_bf16.h and cuda_fp8.h. The parts of :data:`PART_NAMES` are not among them."""


class LinkProbe(Struct, frozen=True):
    """One question to the consumer's own linker: does this link line find its libraries?"""

    cuda_home: str
    consumers: tuple[str, ...]
    """Names of the consumers with this very line; empty = nobody, asked for the tree itself."""
    command: tuple[str, ...]
    """What was run, or what would be run where nothing may be executed."""
    asked: bool
    """False: judged by file names alone."""
    missing: Fact[tuple[str, ...]]
    """Libraries not found (``cudart``, ``cuda``)."""
    output: str = ""
    """The linker's own words, at most 4 KiB."""


class Consumer(Struct, frozen=True):
    """A thing that picks a toolkit in its own way, as installed in the target."""

    name: Literal["torch.utils.cpp_extension", "flashinfer", "sglang", "triton", "tvm-ffi", "deep_gemm"]
    distribution: str
    """``flashinfer-python 0.7.2.post1``"""
    need: Literal["always", "unless-prebuilt", "on-request"]
    """Whether serving needs its compiler: always at run time, unless a prebuilt cache covers it, or only for
    those who build extensions themselves."""
    rule: str
    """How it chooses, in words, from its source."""
    found_via: str
    """Which step of the rule gave the answer: ``CUDA_HOME``, ``nvcc on PATH``, ``/usr/local/cuda``."""
    cuda_home: Fact[str]
    """Folder as it would write it. For triton the folder of its ptxas."""
    nvcc: Fact[str]
    """The compiler it would execute (ptxas for triton); may name a file that does not exist."""
    toolkit: str = ""
    """``home`` of the :class:`Toolkit` whose compiler really runs. It differs from ``cuda_home`` behind a wrapper:
    with a script /usr/local/bin/nvcc, a consumer links below /usr/local and compiles with /usr/local/cuda-13.0.
    Empty where no such tree is on disk."""
    include_dirs: tuple[str, ...] = ()
    """Its own -I folders, searched before the toolkit's."""
    bundled_cccl: Fact[str] | None = None
    """Version of the CCCL it brings and searches first; ``None`` where it brings none."""
    uses_bundled_cccl_only: bool = False
    """True where the toolkit's include/cccl is not searched at all."""
    host_compiler: str = ""
    """``$CXX`` or ``c++``, as it would call it to link."""


class HostCompiler(Struct, frozen=True):
    """A compiler on the target's PATH or named by CC/CXX."""

    command: str
    """As called: ``c++``, or the value of ``$CC``."""
    path: Fact[str]
    kind: Literal["gcc", "clang", "other"]
    version: Fact[str]


class Nvcc(Struct, frozen=True):
    """One nvcc on PATH, in PATH's order."""

    path: str
    real_path: str
    kind: Literal["binary", "script", "dangling", "not-executable"]
    executes: str = ""
    """For a script: the program its exec line names."""

"""Everything read from a target, as plain data: serialisable, comparable, enough to diagnose elsewhere.

Paths are strings as the target itself would write them (inside ``--root`` they begin at that root). Memory and
file sizes are bytes. Versions are strings as printed by their owner; a *release* is ``major.minor`` or longer.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sm120kit.snapshot.facts import Fact, Unknown

SCHEMA = "sm120kit.snapshot/1"


class Struct(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of all snapshot data: frozen, defaults left out of the file."""


class Target(Struct, frozen=True):
    """What was examined and why that one."""

    kind: Literal["interpreter", "site-packages", "root"]
    path: str
    why: str
    root: str = ""
    cuda_home: str = ""
    system_toolkits: bool = True
    environment: str = "this process"
    live: bool = True
    """False where nothing could be executed or asked (``--root``): facts come from names and files alone."""
    image: str = ""
    """Of an archive that was read as it is (its path is ``root``): name, layout and platform of the image."""


class Mount(Struct, frozen=True):
    """A network or fuse file system below which paths were read in a killable child."""

    path: str
    file_system: str


class PciPath(Struct, frozen=True):
    """What lies between one GPU and its peers on the PCI bus."""

    address: str
    """``0000:01:00.0``"""
    iommu: Fact[str]
    """Type of its IOMMU group: ``identity``, ``DMA``, ``DMA-FQ``; ``none`` where it is in no group."""
    redirecting: Fact[tuple[str, ...]]
    """Bridges above it whose Access Control Services send requests of one peer to another up to the root."""


class Host(Struct, frozen=True):
    """The machine (or container) the target runs on."""

    architecture: Fact[str]
    kernel: Fact[str]
    distribution: Fact[str]
    glibc: Fact[str]
    libstdcxx: Fact[str]
    """Newest GLIBCXX symbol version of the system's libstdc++.so.6, such as ``3.4.30``."""
    container: Fact[str]
    """``none``, ``lxc``, ``docker``, ``podman``, ``kubernetes``, ``systemd-nspawn``, ``wsl2`` or another kind."""
    cpus: Fact[int]
    memory_total: Fact[int]
    memory_available: Fact[int]
    shm_size: Fact[int]
    device_nodes: Fact[tuple[str, ...]]
    """Paths of /dev/nvidia* and /dev/dxg, sorted."""
    pci_gpus: Fact[tuple[str, ...]]
    """PCI display devices of vendor 10de: ``0000:01:00.0 10de:2bb5``."""
    slow_mounts: tuple[Mount, ...] = ()
    pci_paths: tuple[PciPath, ...] = ()
    """How peers reach each GPU of ``pci_gpus``, where there are several."""


class GpuProcess(Struct, frozen=True):
    """A process that computes on a GPU, by the number that the driver knows it by: inside a container that is one of
    the host's."""

    pid: int
    memory: int = 0
    """Bytes; 0 = not told."""


class Gpu(Struct, frozen=True):
    """One GPU as NVML tells it (a MIG instance's parent is listed once, its instances in ``mig_devices``)."""

    index: int
    name: str
    uuid: str
    compute_capability: str
    """``12.0``"""
    memory_total: Fact[int]
    memory_free: Fact[int]
    mig_devices: tuple[str, ...] = ()
    pci_bus_id: str = ""
    nvlinks: Fact[int] = Unknown("NVML was not asked for NVLink")
    """How many of its NVLink connections are up; 0 on a GPU that has none."""
    processes: tuple[GpuProcess, ...] = ()
    """None where NVML tells of none, as in most containers. Volatile: ignored by diff."""


class LostGpu(Struct, frozen=True):
    """An index that NVML counts and cannot read, with NVML's own words."""

    index: int
    error: str


class Driver(Struct, frozen=True):
    """The NVIDIA driver: kernel module, user-space libraries and what NVML answers."""

    nvml_library: Fact[str]
    """Path of the libnvidia-ml.so.1 that the loader would take."""
    version: Fact[str]
    """Driver version by NVML (``580.95.05``)."""
    cuda_version: Fact[str]
    """Newest CUDA release this driver serves (``13.0``)."""
    module_version: Fact[str]
    """Kernel module version from /proc/driver/nvidia/version."""
    open_module: Fact[bool]
    gpus: Fact[tuple[Gpu, ...]]
    libcuda: Fact[tuple[str, ...]]
    """Every libcuda.so.1 on the loader's search path, in its order, symbolic links resolved."""
    lost_gpus: tuple[LostGpu, ...] = ()
    libcuda_links: tuple[str, ...] = ()
    """The same libraries by the path under which the loader finds them, links not resolved."""
    libcuda_cached: Fact[bool] = Unknown("the loader's cache was not looked into")
    """Whether /etc/ld.so.cache lists libcuda.so.1, which is what ``ldconfig -p`` prints."""


class Distribution(Struct, frozen=True):
    """One installed distribution, from the name of its dist-info folder."""

    name: str
    """Normalised (PEP 503): ``flashinfer-python``."""
    version: str
    path: str
    """The dist-info folder."""


class Interpreter(Struct, frozen=True):
    """The target's Python, as it answered once and isolated."""

    executable: str
    version: str
    prefix: str
    base_prefix: str
    site_packages: tuple[str, ...]
    """Existing folders of its sys.path that hold distributions, in order."""
    include_dir: str
    externally_managed: bool
    soabi: str
    scripts_dir: str


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


class TorchBuild(Struct, frozen=True):
    """What torch/version.py says, read as text."""

    version: str
    """With local tag: ``2.14.1+cu130``."""
    cuda: str
    """``13.0``; empty for a build without CUDA."""
    path: str


class ViewSource(Struct, frozen=True):
    """One file that a toolkit view was made of, as it was then. ``modified_ns``: nanoseconds since 1970."""

    path: str
    size: int
    modified_ns: int


class ViewManifest(Struct, frozen=True):
    """What lies in every toolkit view as ``sm120kit-view.json``."""

    tool_version: str
    release: str
    """CUDA release of its compiler (``13.0``)."""
    sources: tuple[ViewSource, ...]
    homes: tuple[str, ...]
    """The trees that its parts come from."""
    parts: dict[str, str]
    """Which source each part comes from, in words."""
    digest: str
    target: str = ""
    """The environment's prefix, or the site-packages, that it serves."""


class LiveView(Struct, frozen=True):
    """The toolkit view that is live for this target."""

    current: str
    """The link that names it: what CUDA_HOME should be."""
    path: str
    """The view itself."""
    env_script: str
    """The script that makes a shell use it."""
    in_use: bool
    """Whether the target's environment has CUDA_HOME at this view."""
    manifest: Fact[ViewManifest]
    changed: tuple[str, ...] = ()
    """Sources that are no longer as they were."""
    gone: tuple[str, ...] = ()
    """Sources that are not there any more."""


class Nvcc(Struct, frozen=True):
    """One nvcc on PATH, in PATH's order."""

    path: str
    real_path: str
    kind: Literal["binary", "script", "dangling", "not-executable"]
    executes: str = ""
    """For a script: the program its exec line names."""


class SharedObject(Struct, frozen=True):
    """A compiled library of a wheel that is loaded into the engine's process, and whether it can be."""

    path: str
    distribution: str
    """The wheel that brings it: ``sglang-kernel 0.4.10``."""
    role: Literal["always", "hopper", "on-demand"]
    """When it is loaded: by importing the package, on GPUs of compute capability 9.0 alone, or by some models only."""
    needed: Fact[tuple[str, ...]]
    """Sonames that it asks for."""
    missing: tuple[str, ...] = ()
    """Those that neither its own search path, torch, NVIDIA's wheels nor the loader's path hold."""
    undefined: Fact[tuple[str, ...]] = Unknown("its symbols were not looked at")
    """Symbols of torch that it takes and no library of the installed torch has, as the linker spells them."""


class Claim(Struct, frozen=True):
    """What one wheel's RECORD says of a file."""

    owner: str
    """``nvidia-nccl-cu12 2.27.5``"""
    size: int
    """Bytes; -1 where its row has none."""


class SharedFile(Struct, frozen=True):
    """A library that two installed wheels both list: the one installed last wrote it."""

    path: str
    size: int
    """Bytes of the file that is there."""
    claims: tuple[Claim, ...]
    wanted: str = ""
    """The wheel that torch's metadata asks for (``nvidia-nccl-cu13 2.28.9``); empty where that is not known."""

    @property
    def writers(self) -> tuple[str, ...]:
        """The wheels whose size is that of the file."""
        return tuple(claim.owner for claim in self.claims if claim.size == self.size)


class Shadow(Struct, frozen=True):
    """A library of a wheel, and one of the same name that LD_LIBRARY_PATH puts before it."""

    soname: str
    wheel_path: str
    owner: str
    """The wheel that brings it (``nvidia-nvjitlink-cu12 12.8.93``); empty where that is not known."""
    path: str
    """The file that comes first, as the loader spells it."""
    real_path: str
    """The same with links resolved: its name often ends in its version."""


class BuildTools(Struct, frozen=True):
    """What a JIT calls by name and needs beside a CUDA toolkit."""

    ninja: Fact[str] = Unknown("it was not looked for")
    """The one on the target's PATH."""
    own_ninja: str = ""
    """One in the target's own folder of programs, which may not be on PATH."""
    python_header: Fact[str] = Unknown("it was not looked for")
    """Python.h of the target's interpreter."""


class BuildLock(Struct, frozen=True):
    """A lock that lives as a file, whoever made it: torch's extension builder waits for it without end."""

    path: str
    modified: float
    """Seconds since 1970."""
    age_s: int
    holders: Fact[tuple[int, ...]]
    """Processes that have it open."""


class BuiltModules(Struct, frozen=True):
    """Modules that a JIT has built and keeps, those built through one CUDA home together."""

    consumer: Literal["flashinfer", "tvm-ffi"]
    folder: str
    cuda_home: str
    """As build.ninja names it."""
    count: int
    compiler: Fact[str]
    """What tells when the compiler at that path last changed: the compiler itself, or a link that leads to it."""
    older: tuple[str, ...] = ()
    """Modules that were built before it changed, sorted; at most the first few."""
    older_count: int = 0


class Snapshot(Struct, frozen=True):
    """The whole of what was read. ``schema`` is checked on load."""

    schema: str
    tool_version: str
    taken_at: str
    """UTC, ISO 8601. Volatile: ignored by diff."""
    target: Target
    host: Host
    driver: Driver
    interpreter: Fact[Interpreter]
    distributions: Fact[tuple[Distribution, ...]]
    """Sorted by name, then as imports find them; one name twice = two dist-info folders."""
    torch: Fact[TorchBuild]
    toolkits: tuple[Toolkit, ...]
    consumers: tuple[Consumer, ...]
    link_probes: tuple[LinkProbe, ...]
    host_compilers: tuple[HostCompiler, ...]
    nvcc_on_path: tuple[Nvcc, ...]
    environment: dict[str, str]
    """Variables by allow-list; secrets never enter."""
    live_view: Fact[LiveView] = Unknown("no data folder was looked into")
    """Unknown where this target was never repaired."""
    loader_dirs: tuple[str, ...] = ()
    """LD_LIBRARY_PATH folders in order."""
    shared_objects: tuple[SharedObject, ...] = ()
    """Of the kernel packages that are installed."""
    shared_files: tuple[SharedFile, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    build_tools: BuildTools = BuildTools()
    build_locks: tuple[BuildLock, ...] = ()
    built_modules: tuple[BuiltModules, ...] = ()
    sglang_requires: Fact[tuple[str, ...]] = Unknown("the metadata of sglang was not looked at")
    """Requires-Dist lines of the installed SGLang that pin a version and belong to no extra, as written."""


class Change(Struct, frozen=True):
    """One difference between two snapshots, as people name it: ``package torch``, ``2.14.0``, ``2.14.1``."""

    what: str
    before: str
    """``absent`` where the thing was not there."""
    after: str

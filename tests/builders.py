"""Snapshots made by hand for data cases: healthy by default, broken by naming what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.types.jit import BuildTools
from sm120kit.snapshot.types.machine import Driver, Gpu, Host
from sm120kit.snapshot.types.packages import Distribution, Interpreter, SharedObject, TorchBuild
from sm120kit.snapshot.types.snapshot import SCHEMA, Snapshot, Target
from sm120kit.snapshot.types.toolkits import (
    DEVELOPMENT_HEADERS,
    CcclCopy,
    Consumer,
    GlibcGuards,
    HostCompiler,
    HostCompilerLimits,
    LinkProbe,
    Part,
    Toolkit,
)
from sm120kit.snapshot.types.views import LiveView, ViewManifest

SITE = "/srv/venv/lib/python3.12/site-packages"
CU13 = f"{SITE}/nvidia/cu13"
GIB = 1 << 30

_READ = Source("file", "/made/by/hand")

_WHEELS = {
    "nvcc": "nvidia-cuda-nvcc",
    "nvcc.profile": "nvidia-cuda-nvcc",
    "ptxas": "nvidia-cuda-nvcc",
    "fatbinary": "nvidia-cuda-nvcc",
    "cudafe++": "nvidia-cuda-nvcc",
    "nvlink": "nvidia-cuda-nvcc",
    "cicc": "nvidia-nvvm",
    "libdevice": "nvidia-nvvm",
    "crt": "nvidia-cuda-crt",
    "runtime-headers": "nvidia-cuda-runtime",
    "driver-header": "nvidia-cuda-runtime",
    "libcudart": "nvidia-cuda-runtime",
    "libcudart-static": "nvidia-cuda-runtime",
    "libcudadevrt": "nvidia-cuda-runtime",
    "cccl": "nvidia-cuda-cccl",
}

_PLACES = {
    "nvcc": "bin/nvcc",
    "nvcc.profile": "bin/nvcc.profile",
    "ptxas": "bin/ptxas",
    "fatbinary": "bin/fatbinary",
    "cudafe++": "bin/cudafe++",
    "nvlink": "bin/nvlink",
    "cicc": "nvvm/bin/cicc",
    "libdevice": "nvvm/libdevice/libdevice.10.bc",
    "crt": "include/crt/host_config.h",
    "runtime-headers": "include/cuda_runtime_api.h",
    "driver-header": "include/cuda.h",
    "libcudart": "lib/libcudart.so.13",
    "libcudart-static": "lib/libcudart_static.a",
    "libcudadevrt": "lib/libcudadevrt.a",
    "cccl": "include/cccl/cuda/std/__cccl/version.h",
}


def known(value: Any, source: Source = _READ) -> Known[Any]:
    """A known fact."""
    return Known(value, source)


def toolkit(
    home: str = CU13,
    release: str = "13.0",
    *,
    drop: Sequence[str] = (),
    releases: Mapping[str, str | None] | None = None,
    layout: Any = "wheel-cu13",
    cccl: str | None = "3.0.1",
    link_names: Sequence[str] = ("lib64/libcudart.so", "lib64/stubs/libcuda.so"),
    gcc: int = 15,
    clang: int = 20,
    **changes: Any,
) -> Toolkit:
    """A whole toolkit of one release; ``releases`` sets single parts apart (``None`` = unknown release)."""
    parts = []
    for name, place in _PLACES.items():
        if name in drop or (name == "cccl" and cccl is None):
            continue
        own = (releases or {}).get(name, release)
        fact: Fact[str] = Unknown("no wheel lists it") if own is None else known(own)
        parts.append(Part(name, f"{home}/{place}", fact, owner=f"{_WHEELS[name]} {own}" if own else ""))
    copies = (
        ()
        if cccl is None
        else (
            CcclCopy(
                f"{home}/include/cccl",
                known(cccl),
                has_nv_target=True,
                has_cuda_std=True,
                has_cub=True,
                has_thrust=True,
            ),
        )
    )
    made = Toolkit(
        home=home,
        real_home=home,
        layout=layout,
        found_via=("site-packages",),
        parts=tuple(parts),
        include_dirs=(f"{home}/include", f"{home}/include/cccl"),
        library_dirs=(f"{home}/lib64/stubs", f"{home}/lib64"),
        profile=known("TOP = $(_HERE_)/.."),
        cccl_copies=copies,
        headers=DEVELOPMENT_HEADERS,
        link_names=tuple(link_names),
        host_compiler_limits=known(HostCompilerLimits(gcc, clang)),
        glibc_guards=known(GlibcGuards(sinpi_cospi=True, rsqrt=True)),
        architectures=Unknown("nvcc was not asked"),
        crt_launch_arguments=known(2 if _crt_release(release, releases) == "13.0" else 1),
    )
    return replace(made, **changes)


def _crt_release(release: str, releases: Mapping[str, str | None] | None) -> str:
    """``major.minor`` of the crt headers that a hand-made toolkit holds."""
    return ".".join(((releases or {}).get("crt") or release).split(".")[:2])


def flashinfer(version: str = "0.7.2.post1", home: str | None = CU13, **changes: Any) -> Consumer:
    """FlashInfer, taking the toolkit at ``home`` (``None`` = it finds none); 0.6.10 and later bring CCCL."""
    bundles = tuple(int(part) for part in version.split(".")[:3]) >= (0, 6, 10)
    made = Consumer(
        name="flashinfer",
        distribution=f"flashinfer-python {version}",
        need="unless-prebuilt",
        rule="CUDA_HOME, else CUDA_PATH, else nvcc on PATH, else /usr/local/cuda",
        found_via="CUDA_HOME",
        cuda_home=known(home) if home else Unknown("no CUDA_HOME, no nvcc on PATH, no /usr/local/cuda"),
        nvcc=known(f"{home}/bin/nvcc") if home else Unknown("no toolkit"),
        toolkit=home or "",
        bundled_cccl=known("3.6.0") if bundles else None,
        uses_bundled_cccl_only=bundles,
        host_compiler="c++",
    )
    return replace(made, **changes)


def sglang(version: str = "0.5.23", home: str | None = CU13, **changes: Any) -> Consumer:
    """SGLang's own JIT, which brings no CCCL."""
    return flashinfer(
        home=home,
        name="sglang",
        distribution=f"sglang {version}",
        need="always",
        bundled_cccl=None,
        uses_bundled_cccl_only=False,
        **changes,
    )


def torch_extensions(version: str = "2.14.1", home: str | None = CU13, **changes: Any) -> Consumer:
    """torch.utils.cpp_extension, which only those need who build extensions themselves."""
    return flashinfer(
        home=home,
        name="torch.utils.cpp_extension",
        distribution=f"torch {version}",
        need="on-request",
        bundled_cccl=None,
        uses_bundled_cccl_only=False,
        **changes,
    )


def probe(
    home: str = CU13, missing: Sequence[str] = (), *, asked: bool = True, consumers: Sequence[str] = ()
) -> LinkProbe:
    """What the linker said about ``home``."""
    words = "\n".join(f"/usr/bin/ld: cannot find -l{name}: No such file or directory" for name in missing)
    command = ("c++", "-shared", "-nostdlib", f"-L{home}/lib64", f"-L{home}/lib64/stubs", "-lcudart", "-lcuda")
    return LinkProbe(home, tuple(consumers), command, asked, known(tuple(missing)), words)


def triton(version: str = "3.8.0", **changes: Any) -> Consumer:
    """Triton with the ptxas that it brings for Blackwell."""
    own = "ptxas-blackwell" if tuple(int(part) for part in version.split(".")[:2]) >= (3, 6) else "ptxas"
    folder = f"{SITE}/triton/backends/nvidia/bin"
    made = Consumer(
        name="triton",
        distribution=f"triton {version}",
        need="always",
        rule=f"its own {own}",
        found_via=f"its own {own}",
        cuda_home=known(folder),
        nvcc=known(f"{folder}/{own}"),
        host_compiler="gcc",
    )
    return replace(made, **changes)


def shared_object(
    path: str = "sgl_kernel/sm100/common_ops.abi3.so",
    owner: str = "sglang-kernel 0.4.10",
    *,
    role: Any = "always",
    missing: Sequence[str] = (),
    undefined: Sequence[str] | None = (),
    **changes: Any,
) -> SharedObject:
    """A library of a wheel that finds all it needs, unless ``missing`` or ``undefined`` (``None``: unknown) say
    otherwise."""
    made = SharedObject(
        path=f"{SITE}/{path}",
        distribution=owner,
        role=role,
        needed=known(("libtorch.so", "libc10.so", "libcuda.so.1", *missing)),
        missing=tuple(missing),
        undefined=Unknown("libc10_cuda.so is not there, which it needs")
        if undefined is None
        else known(tuple(undefined)),
    )
    return replace(made, **changes)


def build_tools(**changes: Any) -> BuildTools:
    """ninja on PATH and Python's header in its place."""
    made = BuildTools(
        ninja=known("/srv/venv/bin/ninja"),
        own_ninja="/srv/venv/bin/ninja",
        python_header=known("/usr/include/python3.12/Python.h", Source("file", "/usr/include/python3.12")),
    )
    return replace(made, **changes)


def packages(**versions: str) -> Known[tuple[Distribution, ...]]:
    """Installed distributions: ``packages(flashinfer_python="0.7.2.post1")``."""
    return known(tuple(distribution(name.replace("_", "-"), version) for name, version in sorted(versions.items())))


def distribution(name: str, version: str) -> Distribution:
    """An installed distribution."""
    return Distribution(name, version, f"{SITE}/{name.replace('-', '_')}-{version}.dist-info")


def torch_build(version: str = "2.14.1+cu130", cuda: str = "13.0") -> Known[TorchBuild]:
    """What torch/version.py says."""
    return known(TorchBuild(version, cuda, f"{SITE}/torch/version.py"))


def gpu(index: int = 0, name: str = "NVIDIA RTX PRO 6000 Blackwell Server Edition", cc: str = "12.0") -> Gpu:
    """One idle 96 GB card."""
    total = 97887 << 20
    return Gpu(index, name, f"GPU-{index:08x}", cc, known(total), known(total - (642 << 20)))


def driver(version: str = "580.95.05", cuda: str = "13.0", gpus: Sequence[Gpu] | None = None, **changes: Any) -> Driver:
    """A healthy driver with one RTX PRO 6000, unless ``gpus`` says otherwise."""
    made = Driver(
        nvml_library=known("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"),
        version=known(version, Source("driver", "nvmlSystemGetDriverVersion")),
        cuda_version=known(cuda),
        module_version=known(version, Source("file", "/proc/driver/nvidia/version")),
        open_module=known(True),
        gpus=known(tuple(gpus) if gpus is not None else (gpu(),), Source("driver", "nvmlDeviceGetHandleByIndex")),
        libcuda=known((f"/usr/lib/x86_64-linux-gnu/libcuda.so.{version}",)),
        libcuda_links=("/usr/lib/x86_64-linux-gnu/libcuda.so.1",),
        libcuda_cached=known(True, Source("file", "/etc/ld.so.cache")),
    )
    return replace(made, **changes)


def no_driver() -> Driver:
    """A machine without any trace of a driver."""
    why = Unknown("no libnvidia-ml.so.1 on the loader's path")
    return Driver(why, why, why, Unknown("no /proc/driver/nvidia/version"), why, why, known(()))


def host(**changes: Any) -> Host:
    """Ubuntu 24.04 with 16 cores and 128 GiB, GPU nodes present."""
    made = Host(
        architecture=known("x86_64"),
        kernel=known("6.8.0-60-generic"),
        distribution=known("Ubuntu 24.04.3 LTS"),
        glibc=known("2.39"),
        libstdcxx=known("3.4.33"),
        container=known("none"),
        cpus=known(16),
        memory_total=known(128 * GIB),
        memory_available=known(100 * GIB),
        shm_size=known(64 * GIB),
        device_nodes=known(("/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl")),
        pci_gpus=known(("0000:01:00.0 10de:2bb5",)),
    )
    return replace(made, **changes)


def host_without_gpu(**changes: Any) -> Host:
    """The same machine with no sign of an NVIDIA GPU."""
    return host(device_nodes=known(()), pci_gpus=known(()), **changes)


def gcc(version: str = "13.3.0", command: str = "c++") -> HostCompiler:
    """A host compiler."""
    return HostCompiler(command, known(f"/usr/bin/{command}"), "gcc", known(version))


def live_view(**changes: Any) -> Known[LiveView]:
    """A toolkit view made from the wheels of the venv, whole, and not in use."""
    made = LiveView(
        current="/home/me/.local/share/sm120kit/targets/venv-0123456789ab/current",
        path="/home/me/.local/share/sm120kit/toolkits/0123456789abcdef",
        env_script="/home/me/.local/share/sm120kit/targets/venv-0123456789ab/env.sh",
        in_use=False,
        manifest=known(ViewManifest("0", "13.0", (), (CU13,), {}, "0123456789abcdef", "/srv/venv")),
    )
    return known(replace(made, **changes))


def snapshot(**changes: Any) -> Snapshot:
    """A healthy venv: torch cu130, one whole toolkit 13.0 from wheels, nobody compiling through it yet."""
    made = Snapshot(
        schema=SCHEMA,
        tool_version="0",
        taken_at="2026-11-29T00:00:00Z",
        target=Target("interpreter", "/srv/venv/bin/python", "--python"),
        host=host(),
        driver=driver(),
        interpreter=known(
            Interpreter(
                executable="/srv/venv/bin/python",
                version="3.12.11",
                prefix="/srv/venv",
                base_prefix="/usr",
                site_packages=(SITE,),
                include_dir="/usr/include/python3.12",
                externally_managed=False,
                soabi="cpython-312-x86_64-linux-gnu",
                scripts_dir="/srv/venv/bin",
            )
        ),
        distributions=known((distribution("torch", "2.14.1"),)),
        torch=torch_build(),
        toolkits=(toolkit(),),
        consumers=(),
        link_probes=(probe(),),
        host_compilers=(gcc(),),
        nvcc_on_path=(),
        environment={"HOME": "/home/me"},
        build_tools=build_tools(),
        lacking=known(()),
    )
    return replace(made, **changes)


def named(home: str = CU13, **changes: Any) -> Snapshot:
    """A snapshot whose toolkit is named by ``--cuda-home``."""
    base = snapshot(**changes)
    return replace(base, target=replace(base.target, cuda_home=home))

"""CUDA trees of tiny files, laid out as the real ones are, and the questions that tests ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.records import Distributions, RecordIndex
from sm120kit.snapshot.toolkits import read_toolkits
from sm120kit.snapshot.types.snapshot import Target
from sm120kit.snapshot.types.toolkits import Toolkit

PROFILE_130 = """\
TOP              = $(_HERE_)/..

CICC_PATH        = $(TOP)/nvvm/bin
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice

PATH            += $(CICC_PATH):$(_HERE_):

INCLUDES        +=  "-I$(TOP)/$(_TARGET_DIR_)/include" $(_SPACE_)
SYSTEM_INCLUDES +=  "-isystem" "$(TOP)/$(_TARGET_DIR_)/include/cccl" $(_SPACE_)

_LIB             = $(TOP)/$(_TARGET_DIR_)/lib$(_TARGET_SIZE_)
LIBRARIES        =+ $(_SPACE_) "-L$(_LIB)/stubs" "-L$(_LIB)"
"""
"""As in 13.0 and 13.1: folders by _TARGET_DIR_ and _TARGET_SIZE_."""

PROFILE_132 = """\
TOP              = $(_HERE_)/..
CICC_PATH        = $(TOP)/nvvm/bin
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH            += $(CICC_PATH):$(_HERE_):
INCLUDES        +=  "-I$(TOP)/include" $(_SPACE_)
SYSTEM_INCLUDES +=  "-isystem" "$(TOP)/include/cccl" $(_SPACE_)
LIBRARIES        =+ $(_SPACE_) "-L$(TOP)/lib/stubs" "-L$(TOP)/lib"
"""
"""As in 13.2 and later: no folder ``targets`` is looked for."""

PROFILE_CONDA = """\
TOP              = $(_HERE_)/../$(_TARGET_DIR_)
NVVMIR_LIBRARY_DIR = $(TOP)/$(_NVVM_BRANCH_)/libdevice
PATH            += $(TOP)/bin:$(TOP)/$(_NVVM_BRANCH_)/bin:$(TOP)/../../bin:$(TOP)/../../$(_NVVM_BRANCH_)/bin:
INCLUDES        +=  "-I$(TOP)/include" $(_SPACE_) $(CUDA_INCLUDE_DIRS) $(_SPACE_)
LIBRARIES        =+ $(_SPACE_) "-L$(TOP)/lib/stubs" "-L$(TOP)/lib" $(_SPACE_) $(CUDA_LINK_DIRS) $(_SPACE_)
"""
"""conda-forge's change to it (cuda-nvcc-impl-feedstock, recipe/nvcc.profile.patch)."""

PROFILE_DEBIAN = """\
NVVMIR_LIBRARY_DIR = /usr/lib/nvidia-cuda-toolkit/libdevice
PATH += /usr/lib/nvidia-cuda-toolkit/bin:
LIBRARIES =+ $(_SPACE_) -L/usr/lib/x86_64-linux-gnu/stubs -L/usr/lib/x86_64-linux-gnu
"""
"""What ``nvcc -v`` prints on Ubuntu 22.04 and 24.04: no include folder of its own."""

T = TypeVar("T")

SITE = "venv/lib/python3.12/site-packages"


def host_config(gcc: int, clang: int) -> str:
    """The lines of crt/host_config.h that limit host compilers, those for other hosts too (as in 13.5)."""
    return (
        f"#if (__GRCO_CLANG_COMPILER__ == 1) && ((__clang_major__ < 16) || (__clang_major__ > {clang + 3}))\n#endif\n"
        f"#if defined(__GNUC__)\n#if __GNUC__ > {gcc}\n#error -- unsupported GNU version!\n#endif\n"
        f"#if defined(__HORIZON__)\n#if (__clang_major__ >= {clang}) || (__clang_major__ < 3)\n#endif\n#endif\n"
        "#if defined(__clang__) && !defined(__ICC) && !defined(__HORIZON__)\n\n"
        f"#if (__clang_major__ >= {clang + 1}) || (__clang_major__ < 3)\n#endif\n#endif\n#endif\n"
    )


def host_runtime(arguments: int) -> str:
    """Both definitions of ``__cudaLaunch``."""
    names = ", ".join(("fun", "isTileKernel")[:arguments])
    define = f"#define __cudaLaunch({names}) \\\n  {{}}\n"
    return f"#ifdef __NV_LEGACY_LAUNCH\n{define}#else\n{define}#endif\n"


def math_functions(*, sinpi: bool, rsqrt: bool) -> str:
    """The two declarations that newer glibc headers clash with."""
    start = "extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ double                 "
    return (
        f"{start}rsqrt(double x){' _NV_RSQRT_SPECIFIER' if rsqrt else ''};\n"
        f"{start}sinpi(double x){' __NV_IEC_60559_FUNCS_EXCEPTION_SPECIFIER' if sinpi else ''};\n"
        "__func__(double rsqrt(double a));\n"
    )


def crt(release: str = "13.0") -> dict[str, str]:
    """Files of include/crt."""
    gcc, clang = {"12.8": (14, 19), "13.0": (15, 20), "13.2": (15, 21), "13.5": (16, 22)}[release]
    return {
        "crt/host_config.h": host_config(gcc, clang),
        "crt/host_runtime.h": host_runtime(2 if release == "13.0" else 1),
        "crt/math_functions.h": math_functions(sinpi=release != "12.8", rsqrt=release in ("13.2", "13.5")),
    }


def runtime_headers(number: int = 13000) -> dict[str, str]:
    """cuda_runtime_api.h and cuda.h; the number is 1000 * major + 10 * minor."""
    return {
        "cuda_runtime_api.h": f"/* CUDART_VERSION is\n below */\n#define CUDART_VERSION  {number}\n",
        "cuda.h": f"#if 0\n#define CUDA_VERSION_OTHER 1\n#endif\n#define CUDA_VERSION {number}\n",
    }


def cccl(number: int = 3000001, folder: str = "cccl/", *, older_place: bool = False) -> dict[str, str]:
    """One whole CCCL; 3000001 is 3.0.1."""
    std = "cuda/std/detail/libcxx/include/__cccl" if older_place else "cuda/std/__cccl"
    shown = number // 1_000_000 * 100_000 + number // 1000 % 1000 * 100 + number % 1000
    return {
        f"{folder}nv/target": "",
        f"{folder}{std}/version.h": f"#ifndef V\n#define CCCL_VERSION {number}\n#endif\n",
        f"{folder}cuda/std/atomic": "",
        f"{folder}cuda/version": "",
        f"{folder}cub/cub.cuh": "",
        f"{folder}cub/version.cuh": f"#define CUB_VERSION {shown} // one value\n",
        f"{folder}thrust/version.h": f"#define THRUST_VERSION {shown} // one value\n",
    }


def under(folder: str, files: Mapping[str, str]) -> dict[str, str]:
    """The same files in a folder."""
    return {f"{folder}/{name}": text for name, text in files.items()}


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Write text files below ``root``; those in a folder ``bin`` become executable, as do their folders appear."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if path.parent.name == "bin":
            path.chmod(0o755)
    return root


def installer_tree(
    root: Path, *, release: str = "13.0", number: int = 13000, full: str = "13.0.96", arch: str = "x86_64-linux"
) -> Path:
    """A toolkit as NVIDIA's runfile and packages install it: lib64 and include lead to ``targets``."""
    target = f"targets/{arch}"
    write(
        root,
        {
            **{f"bin/{name}": "\x7fELF" for name in ("nvcc", "ptxas", "fatbinary", "cudafe++", "nvlink")},
            "bin/nvcc.profile": PROFILE_130,
            "nvvm/bin/cicc": "\x7fELF",
            "nvvm/libdevice/libdevice.10.bc": "",
            **under(f"{target}/include", {**crt(release), **runtime_headers(number), **cccl(), "cublasLt.h": ""}),
            f"{target}/lib/libcudart.so.{full}": "",
            f"{target}/lib/libcudart_static.a": "",
            f"{target}/lib/libcudadevrt.a": "",
            f"{target}/lib/libnvrtc.so.{full}": "",
            f"{target}/lib/stubs/libcuda.so": "",
        },
    )
    major = full.partition(".")[0]
    library = root / target / "lib"
    for stem in ("libcudart", "libnvrtc"):
        (library / f"{stem}.so.{major}").symlink_to(f"{stem}.so.{full}")
        (library / f"{stem}.so").symlink_to(f"{stem}.so.{major}")
    (root / "lib64").symlink_to(f"{target}/lib")
    (root / "include").symlink_to(f"{target}/include")
    return root


WHEEL_FILES: Mapping[str, Mapping[str, str]] = {
    "nvidia_cuda_nvcc-13.0.88": {
        **{f"bin/{name}": f"\x7fELF {name}" for name in ("nvcc", "ptxas", "fatbinary", "cudafe++", "nvlink")},
        "bin/nvcc.profile": PROFILE_130,
    },
    "nvidia_cuda_crt-13.0.88": under("include", crt("13.0")),
    "nvidia_nvvm-13.0.88": {"nvvm/bin/cicc": "\x7fELF cicc", "nvvm/libdevice/libdevice.10.bc": "BC"},
    "nvidia_cuda_runtime-13.0.96": {
        **under("include", runtime_headers()),
        "lib/libcudart.so.13": "\x7fELF",
        "lib/libcudart_static.a": "",
        "lib/libcudadevrt.a": "",
    },
    "nvidia_cuda_cccl-13.0.85": {**under("include", cccl()), "include/nv/target": ""},
}
"""A healthy 13.0 set, by dist-info stem."""


def wheel_tree(site: Path, wheels: Mapping[str, Mapping[str, str]] = WHEEL_FILES, folder: str = "nvidia/cu13") -> Path:
    """Lay wheels out as pip does, with their RECORDs; return the tree's home."""
    for stem, files in wheels.items():
        install_wheel(site, stem, under(folder, files))
    return site / folder


def install_wheel(site: Path, stem: str, files: Mapping[str, str]) -> None:
    """Write a wheel's files and its RECORD."""
    write(site, files)
    rows = [f"{name},sha256=x,{len(text.encode())}" for name, text in files.items()]
    rows += [f"{stem}.dist-info/RECORD,,"]
    write(site, {f"{stem}.dist-info/RECORD": "\n".join(rows) + "\n"})


def context(
    *,
    site_packages: Sequence[Path | str] = (),
    environment: Mapping[str, str] | None = None,
    cuda_home: Path | str = "",
    system_toolkits: bool = False,
    root: Path | str = "",
    live: bool = False,
    deep: bool = False,
) -> Context:
    """A target that sees nothing of this machine's own PATH and system toolkits unless told to."""
    sites = tuple(map(str, site_packages))
    target = Target(
        "site-packages",
        sites[0] if sites else "",
        "made by hand",
        str(root),
        str(cuda_home),
        system_toolkits,
        live=live,
    )
    return Context(Files(str(root)), {"PATH": "/nowhere", **(environment or {})}, sites, live, target, deep)


def toolkits_of(made: Context, extra_homes: Mapping[str, str] | None = None) -> tuple[Toolkit, ...]:
    """What the collector reads, with the RECORDs of all nvidia wheels."""
    distributions = Distributions.read(made.files, made.site_packages)
    records = RecordIndex(made.files, distributions.starting_with("nvidia-"))
    return read_toolkits(made, records, extra_homes or {})


def only(found: Iterable[T]) -> T:
    """The one that was found."""
    (one,) = found
    return one


def release_of(toolkit: Toolkit, part: str) -> str:
    """The release of a part, ``?`` where it is unknown, empty where there is no such part."""
    found = toolkit.part(part)
    return "" if found is None else value(found.release, "?")


def value(fact: Fact[str], unknown: str = "?") -> str:
    """A fact's value."""
    return fact.value if isinstance(fact, Known) else unknown

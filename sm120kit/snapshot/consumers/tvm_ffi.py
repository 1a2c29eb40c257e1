"""apache-tvm-ffi: ``tvm_ffi.cpp.load_inline`` and friends, which FlashInfer and SGLang build upon.

Read in 0.1.0 to 0.1.15.post2 (tvm_ffi/cpp/extension.py; load_inline.py in 0.1.0); ``_find_cuda_home`` is the same in
all: $CUDA_HOME or $CUDA_PATH; if that is None, ``shutil.which("nvcc")``; else /usr/local/cuda, an error if that does
not exist. Compiler bin/nvcc; linker $CXX or c++ with ``-L$CUDA_HOME/lib64 -lcudart`` (after its own library).

0.1.9 to 0.1.12 look for ROCm first, unless TVM_FFI_GPU_BACKEND is cuda: ROCM_HOME or ROCM_PATH set, hipcc on PATH, or
the mere presence of /opt/rocm makes them compile with hipcc (``_detect_gpu_backend``; apache/tvm-ffi#651). Earlier ones
know no ROCm, later ones ask torch.
"""

from __future__ import annotations

from typing import Final

from sm120kit.snapshot.consumers import cuda_home
from sm120kit.snapshot.consumers.cuda_home import Choice
from sm120kit.snapshot.consumers.installed import at_least, existing_dirs, package_path
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Unknown
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.types.packages import TorchBuild
from sm120kit.snapshot.types.toolkits import Consumer

NAME: Final = "tvm-ffi"
RULE = f"{cuda_home.RULE} if that exists; the compiler is bin/nvcc there"

_ROCM = "/opt/rocm"


def find(context: Context, distributions: Distributions, _torch: Fact[TorchBuild]) -> Consumer | None:
    """tvm-ffi, where it is installed. It builds nothing on its own."""
    installed = distributions.first("apache-tvm-ffi")
    if installed is None:
        return None
    choice = choose(context, installed.version, NAME)
    return Consumer(
        name=NAME,
        distribution=f"{installed.name} {installed.version}",
        need="on-request",
        rule=RULE,
        found_via=choice.found_via,
        cuda_home=choice.home,
        nvcc=choice.nvcc(),
        include_dirs=existing_dirs(context, f"{package_path(installed, 'tvm_ffi')}/include"),
        host_compiler=context.environment.get("CXX", "c++"),
    )


def choose(context: Context, version: str, consumer: str) -> Choice:
    """The CUDA home of whoever builds through this version of tvm-ffi."""
    rocm = _rocm(context) if at_least(version, 0, 1, 9) and not at_least(version, 0, 1, 13) else ""
    if rocm:
        reason = (
            f"tvm-ffi {version} would compile with ROCm's hipcc because of {rocm}; "
            "set TVM_FFI_GPU_BACKEND=cuda, or install apache-tvm-ffi 0.1.13 or newer"
        )
        return Choice(Unknown(reason), rocm)
    return cuda_home.choose(context, consumer)


def link_flags(_context: Context, home: str, _version: str) -> tuple[str, ...]:
    """The part of its link line that concerns CUDA."""
    return (f"-L{home}/lib64", "-lcudart")


def _rocm(context: Context) -> str:
    """What makes it choose ROCm; empty where nothing does."""
    environment = context.environment
    backend = environment.get("TVM_FFI_GPU_BACKEND", "").lower()
    if backend in ("cuda", "hip"):
        return "TVM_FFI_GPU_BACKEND" if backend == "hip" else ""
    for variable in ("ROCM_HOME", "ROCM_PATH"):
        if environment.get(variable):
            return variable
    if environment.get("ROCM_PATH") is not None:
        return "ROCM_PATH"
    return context.which("hipcc") or (_ROCM if context.files.exists(_ROCM) else "")

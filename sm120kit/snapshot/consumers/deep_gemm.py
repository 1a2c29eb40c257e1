"""DeepGEMM: FP8 and FP4 matrix kernels, each compiled when it is first called (nvcc -cubin; nothing is linked).

Read in sgl-deep-gemm 0.1.0, 0.1.4.post1, 0.1.7, 0.2.0, 0.2.3.post2 and 0.2.5 (deep_gemm/__init__.py, cuda_helpers.py)
and in DeepGEMM's own csrc/jit/compiler.hpp of 2026-06:

* $CUDA_HOME or $CUDA_PATH; if that is None, nvcc on PATH: by the program ``which`` up to 0.1.0 and in DeepGEMM itself
  (where that program is missing the search goes on), by ``shutil.which`` later; else /usr/local/cuda if it exists.
  Without any of these ``import deep_gemm`` fails with AssertionError, which SGLang does not catch.
* The compiler is $DG_JIT_NVCC_COMPILER unless that is empty, else bin/nvcc.
* Its prebuilt _C.so holds no kernels: SM90 and SM100 from 0.1.0 on, SM120 by 0.1.5.post3, each from source headers in
  deep_gemm/include. SGLang uses it for some FP8 and FP4 models only, hence on request.
* Wheels of sgl-kernel before sgl-deep-gemm was split off carry the package too.
"""

from __future__ import annotations

from typing import Final

from sm120kit.snapshot.consumers import cuda_home
from sm120kit.snapshot.consumers.installed import at_least, existing_dirs, first_installed, package_path
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.types.packages import Distribution, TorchBuild
from sm120kit.snapshot.types.toolkits import Consumer

NAME: Final = "deep_gemm"

_COMPILER = "DG_JIT_NVCC_COMPILER"


def find(context: Context, distributions: Distributions, _torch: Fact[TorchBuild]) -> Consumer | None:
    """DeepGEMM, where a wheel brings it."""
    installed = first_installed(distributions, "sgl-deep-gemm", "deep-gemm") or _carrier(context, distributions)
    if installed is None:
        return None
    searches_itself = installed.name == "sgl-deep-gemm" and at_least(installed.version, 0, 1, 4)
    choice = cuda_home.choose(context, NAME, runs_which=not searches_itself, goes_on_without_which=True)
    named = cuda_home.compiler_named_by(context, _COMPILER) if context.environment.get(_COMPILER) else None
    return Consumer(
        name=NAME,
        distribution=f"{installed.name} {installed.version}",
        need="on-request",
        rule=f"{cuda_home.RULE} if that exists; the compiler is {_COMPILER}, else bin/nvcc there",
        found_via=choice.found_via,
        cuda_home=choice.home,
        nvcc=named or choice.nvcc(),
        include_dirs=existing_dirs(context, f"{package_path(installed, 'deep_gemm')}/include"),
        host_compiler=context.environment.get("CXX", "c++"),
    )


def _carrier(context: Context, distributions: Distributions) -> Distribution | None:
    kernels = first_installed(distributions, "sglang-kernel", "sgl-kernel")
    if kernels and context.files.is_file(f"{package_path(kernels, 'deep_gemm')}/__init__.py"):
        return kernels
    return None

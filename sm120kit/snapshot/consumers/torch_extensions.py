"""torch.utils.cpp_extension: what ``load``, ``load_inline`` and ``CUDAExtension`` compile and link with.

Read in torch 2.7 (``_find_cuda_home``, ``_prepare_ldflags``) and 2.13.0 (torch/utils/cpp_extension.py, lines 155-180,
359, 481, 2614-2623, 3148-3155):

* CUDA_HOME is looked for only by a torch that was built for CUDA; else it is None, and nothing can be built.
* $CUDA_HOME or $CUDA_PATH; if that is None, ``shutil.which("nvcc")``; else /usr/local/cuda if it exists.
* The compiler is $PYTORCH_NVCC where that is set (even if empty), else bin/nvcc.
* The linker is $CXX or c++, with -L of lib64, or of lib where only that exists, and -lcudart; libcuda is not linked.
  (torch's own libraries come before these; they have no say in where CUDA's are found.)
"""

from __future__ import annotations

from typing import Final

from sm120kit.snapshot.consumers import cuda_home
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.types.packages import TorchBuild
from sm120kit.snapshot.types.toolkits import Consumer

NAME: Final = "torch.utils.cpp_extension"


def find(context: Context, distributions: Distributions, torch: Fact[TorchBuild]) -> Consumer | None:
    """torch's extension builder, where torch was built for CUDA."""
    if not isinstance(torch, Known) or not torch.value.cuda:
        return None
    installed = distributions.first("torch")
    choice = cuda_home.choose(context, NAME)
    return Consumer(
        name=NAME,
        distribution=f"torch {installed.version if installed else torch.value.version}",
        need="on-request",
        rule=f"{cuda_home.RULE} if that exists; the compiler is PYTORCH_NVCC, else bin/nvcc there",
        found_via=choice.found_via,
        cuda_home=choice.home,
        nvcc=cuda_home.compiler_named_by(context, "PYTORCH_NVCC") or choice.nvcc(),
        host_compiler=context.environment.get("CXX", "c++"),
    )


def link_flags(context: Context, home: str, _version: str) -> tuple[str, ...]:
    """The part of its link line that concerns CUDA."""
    folder = "lib64"
    if not context.files.exists(f"{home}/lib64") and context.files.exists(f"{home}/lib"):
        folder = "lib"
    return (f"-L{home}/{folder}", "-lcudart")

"""SGLang's own JIT kernels (rotary embedding, activation, cache writes and more).

Read in 0.5.5 (none yet), 0.5.6, 0.5.8, 0.5.9, 0.5.12, 0.5.14, 0.5.16, 0.5.17, 0.5.18, 0.5.20 and 0.5.23:

* 0.5.6 to 0.5.17 (sglang/jit_kernel/utils.py; in 0.5.17 sglang/kernels/jit/utils/compile.py) call tvm-ffi's
  ``load_inline`` and leave the choice of a toolkit to it. 0.5.9 is the first whose servers compile kernels at start.
* From 0.5.18 (sglang/kernels/jit/utils/compile/toolchain.py, ``cuda_home`` and ``base_link_flags``) it writes
  build.ninja itself: $CUDA_HOME or $CUDA_PATH; if that is None, ``shutil.which("nvcc")``; else /usr/local/cuda, whether
  it exists or not. Compiler bin/nvcc.
* Both link with $CXX or c++ and ``-L$CUDA_HOME/lib64 -lcudart`` (after tvm-ffi's library). Only modules that use the
  driver's API (all-reduce, wo_a) add ``-L$CUDA_HOME/lib64/stubs -lcuda``.
* No version sets CUDA_HOME itself or looks into site-packages/nvidia. FlashInfer's headers are used, its CCCL is not
  (deps.py): nv/target must come from the toolkit.
"""

from __future__ import annotations

from typing import Final

from sm120kit.snapshot.consumers import cuda_home, tvm_ffi
from sm120kit.snapshot.consumers.installed import at_least, existing_dirs, package_path
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.types.packages import TorchBuild
from sm120kit.snapshot.types.toolkits import Consumer

NAME: Final = "sglang"


def find(context: Context, distributions: Distributions, _torch: Fact[TorchBuild]) -> Consumer | None:
    """SGLang, where it is installed and new enough to have JIT kernels."""
    installed = distributions.first("sglang")
    if installed is None or not at_least(installed.version, 0, 5, 6):
        return None
    package, builder = package_path(installed, "sglang"), distributions.first("apache-tvm-ffi")
    own_rule = at_least(installed.version, 0, 5, 18)
    if own_rule:
        choice = cuda_home.choose(context, NAME, default_must_exist=False)
    else:
        choice = tvm_ffi.choose(context, builder.version if builder else "", NAME)
    include = [f"{package_path(builder, 'tvm_ffi')}/include"] if builder else []
    include += [f"{package}/kernels/jit/include", f"{package}/jit_kernel/include"]
    return Consumer(
        name=NAME,
        distribution=f"{installed.name} {installed.version}",
        need="always" if at_least(installed.version, 0, 5, 9) else "on-request",
        rule=f"{cuda_home.RULE}; the compiler is bin/nvcc there" if own_rule else f"that of tvm-ffi: {tvm_ffi.RULE}",
        found_via=choice.found_via,
        cuda_home=choice.home,
        nvcc=choice.nvcc(),
        include_dirs=existing_dirs(context, *include),
        host_compiler=context.environment.get("CXX", "c++"),
    )


link_flags = tvm_ffi.link_flags

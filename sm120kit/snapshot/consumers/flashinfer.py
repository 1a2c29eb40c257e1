"""FlashInfer's JIT (flashinfer/jit/cpp_ext.py).

Read in 0.3.1.post1, 0.4.1, 0.5.3, 0.6.0, 0.6.7.post2, 0.6.10, 0.6.18.post1 and 0.7.2.post1:

* From 0.4 (``get_cuda_path``; lines 50-69 of 0.6.7.post2): $CUDA_HOME or $CUDA_PATH; if that is None, the program
  ``which`` is run for nvcc (an exception where there is none); else /usr/local/cuda, an error if that does not exist.
  The compiler is $FLASHINFER_NVCC, else ``$cuda_home/bin/nvcc``: an empty home makes it /bin/nvcc.
* Up to 0.3 the home is torch's CUDA_HOME, else /usr/local/cuda whether it exists or not, and the compiler is
  $PYTORCH_NVCC, else bin/nvcc there.
* Linked with $CXX or c++: ``-shared -L$cuda_home/lib64 -L$cuda_home/lib64/stubs -lcudart -lcuda``, up to 0.3 without
  stubs and libcuda; then $FLASHINFER_EXTRA_LDFLAGS.
* From 0.6.10 its own CCCL (flashinfer/data/cccl: cub, libcudacxx/include, thrust) is passed by -I before all else, and
  $cuda_home/include/cccl is not passed any more (lines 119-176 of 0.7.2.post1).
* nvcc is given ``-ccbin $CC`` where CC is set.
"""

from __future__ import annotations

from typing import Final

from sm120kit.snapshot.cccl import cccl_copies
from sm120kit.snapshot.compiler_command import words
from sm120kit.snapshot.consumers import cuda_home
from sm120kit.snapshot.consumers.cuda_home import Choice
from sm120kit.snapshot.consumers.installed import at_least, existing_dirs, first_installed, package_path
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.records import Distributions, RecordIndex
from sm120kit.snapshot.types.packages import TorchBuild
from sm120kit.snapshot.types.toolkits import Consumer

NAME: Final = "flashinfer"

_STEERING = ("-L", "-l", "-B", "-fuse-ld=", "--sysroot=", "-Wl,-L", "-Wl,-l")
"""Beginnings of the linker flags that decide which library is found."""


def find(context: Context, distributions: Distributions, torch: Fact[TorchBuild]) -> Consumer | None:
    """FlashInfer, where it is installed."""
    installed = first_installed(distributions, "flashinfer-python", "flashinfer")
    if installed is None:
        return None
    package, version = package_path(installed, "flashinfer"), installed.version
    if at_least(version, 0, 4):
        choice, nvcc = _present_rule(context)
        rule = f"{cuda_home.RULE} if that exists; the compiler is FLASHINFER_NVCC, else bin/nvcc there"
    else:
        choice, nvcc = _rule_up_to_0_3(context, torch)
        rule = "torch's CUDA_HOME, else /usr/local/cuda; the compiler is PYTORCH_NVCC, else bin/nvcc there"
    brings_cccl = at_least(version, 0, 6, 10)
    return Consumer(
        name=NAME,
        distribution=f"{installed.name} {version}",
        need="unless-prebuilt",
        rule=rule,
        found_via=choice.found_via,
        cuda_home=choice.home,
        nvcc=nvcc,
        include_dirs=existing_dirs(context, *_cccl_dirs(package)) if brings_cccl else (),
        bundled_cccl=_bundled_cccl(context, package) if brings_cccl else None,
        uses_bundled_cccl_only=brings_cccl,
        host_compiler=context.environment.get("CXX", "c++"),
    )


def link_flags(context: Context, home: str, version: str) -> tuple[str, ...]:
    """Its link line, without such extra flags as do not decide which libraries are found."""
    flags = [f"-L{home}/lib64", "-lcudart"]
    if at_least(version, 0, 4):
        flags = [f"-L{home}/lib64", f"-L{home}/lib64/stubs", "-lcudart", "-lcuda"]
    return (*flags, *_extra_flags(context))


def _present_rule(context: Context) -> tuple[Choice, Fact[str]]:
    choice = cuda_home.choose(context, NAME, runs_which=True)
    named = cuda_home.compiler_named_by(context, "FLASHINFER_NVCC")
    if named is None and choice.is_empty_path:
        named = Known("/bin/nvcc", Source("variable", choice.found_via))
    return choice, named or choice.nvcc()


def _rule_up_to_0_3(context: Context, torch: Fact[TorchBuild]) -> tuple[Choice, Fact[str]]:
    default = Choice(Known(cuda_home.DEFAULT_HOME, Source("file", cuda_home.DEFAULT_HOME)), cuda_home.DEFAULT_HOME)
    choice = default
    if isinstance(torch, Known) and torch.value.cuda:
        found = cuda_home.choose(context, NAME, default_must_exist=False)
        choice = default if found.is_empty_path else found
    return choice, cuda_home.compiler_named_by(context, "PYTORCH_NVCC") or choice.nvcc()


def _extra_flags(context: Context) -> tuple[str, ...]:
    found: list[str] = []
    flags = iter(words(context.environment.get("FLASHINFER_EXTRA_LDFLAGS", "")))
    for flag in flags:
        if flag in ("-L", "-l", "-B"):
            found.append(flag + next(flags, ""))
        elif flag.startswith(_STEERING):
            found.append(flag)
    return tuple(found)


def _cccl_dirs(package: str) -> tuple[str, ...]:
    """In the order of its command line."""
    return tuple(f"{package}/data/cccl/{part}" for part in ("cub", "libcudacxx/include", "thrust"))


def _bundled_cccl(context: Context, package: str) -> Fact[str]:
    folder = f"{package}/data/cccl/libcudacxx/include"
    copies = cccl_copies(context.files, (folder,), RecordIndex(context.files, ()))
    return copies[0].version if copies else Unknown(f"{folder} holds no CCCL, though this FlashInfer brings one")

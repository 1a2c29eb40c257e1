"""What is installed in a target: interpreter, distributions, torch, compiled files, as plain data."""

from __future__ import annotations

from typing import Literal

from sm120kit.snapshot.facts import Fact, Unknown
from sm120kit.snapshot.types.base import Struct


class Distribution(Struct, frozen=True):
    """One installed distribution, from the name of its dist-info folder."""

    name: str
    """Normalised (PEP 503): ``flashinfer-python``."""
    version: str
    path: str
    """The dist-info folder."""


class Lacking(Struct, frozen=True):
    """What one installed distribution requires, and is not installed at all."""

    distribution: str
    """``flashinfer-python 0.6.7``."""
    path: str
    """Its METADATA."""
    lines: tuple[str, ...]
    """Requires-Dist lines, as written, with their markers."""


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


class TorchBuild(Struct, frozen=True):
    """What torch/version.py says, read as text."""

    version: str
    """With local tag: ``2.14.1+cu130``."""
    cuda: str
    """``13.0``; empty for a build without CUDA."""
    path: str


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

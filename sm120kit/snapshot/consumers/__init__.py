"""Who compiles CUDA code in the target, and which toolkit each would take: one module per consumer.

Each module holds ``find`` and, where the consumer links with the host compiler, ``link_flags``; its docstring gives
the consumer's rule and where it was read.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from sm120kit.snapshot.consumers import deep_gemm, flashinfer, sglang, torch_extensions, triton, tvm_ffi
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.types.packages import TorchBuild
from sm120kit.snapshot.types.toolkits import Consumer


class Find(Protocol):
    """Looks whether a consumer is installed, and applies its rule."""

    def __call__(
        self, context: Context, distributions: Distributions, torch: Fact[TorchBuild], /
    ) -> Consumer | None: ...


class LinkFlags(Protocol):
    """Given its CUDA home and version: the flags of a consumer's link line that concern CUDA."""

    def __call__(self, context: Context, home: str, version: str, /) -> tuple[str, ...]: ...


class Rule(msgspec.Struct, frozen=True):
    """How one consumer chooses its toolkit, and how it links; ``link_flags`` is ``None`` where it does not."""

    find: Find
    link_flags: LinkFlags | None = None


RULES: dict[str, Rule] = {
    sglang.NAME: Rule(sglang.find, sglang.link_flags),
    flashinfer.NAME: Rule(flashinfer.find, flashinfer.link_flags),
    deep_gemm.NAME: Rule(deep_gemm.find),
    tvm_ffi.NAME: Rule(tvm_ffi.find, tvm_ffi.link_flags),
    torch_extensions.NAME: Rule(torch_extensions.find, torch_extensions.link_flags),
    triton.NAME: Rule(triton.find),
}
"""In the order of reports: those that a server needs first."""


def find_consumers(context: Context, distributions: Distributions, torch: Fact[TorchBuild]) -> tuple[Consumer, ...]:
    """Every installed consumer with its choice; ``toolkit`` is left to
    :func:`sm120kit.snapshot.consumers.matching.match_consumers`."""
    found = (rule.find(context, distributions, torch) for rule in RULES.values())
    return tuple(consumer for consumer in found if consumer is not None)

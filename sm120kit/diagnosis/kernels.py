"""Kernels that depend on the GPU and the model: what can be asked for, and how much shared memory they take."""

from collections.abc import Iterator
from typing import Literal

from sm120kit.diagnosis.asked import Server
from sm120kit.diagnosis.attention import has_capability
from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.versions import older, within
from sm120kit.snapshot.model_facts import ModelFacts


class KernelChoice(Row, frozen=True, kw_only=True):
    """One value of a setting, and what it does on some GPUs (kernel_choices.toml)."""

    topic: Literal["deep-gemm", "nvfp4"]
    setting: str
    values: tuple[str, ...]
    first: str = ""
    last: str = ""
    capabilities: tuple[str, ...]
    weights: tuple[str, ...] = ()
    """How the model's weights are stored; empty = in any way."""
    moe: bool = False
    """Whether it matters to models with experts alone."""
    package: str = ""
    below: str = ""
    verdict: Literal["fails", "wrong", "doubtful", "unknown"]
    """``wrong``: the results are; ``doubtful``: they were seen to be, in a like place."""
    says: str
    instead: str
    """What to write."""


class SharedMemory(Row, frozen=True, kw_only=True):
    """Most shared memory that a block can have (shared_memory.toml)."""

    capabilities: tuple[str, ...]
    bytes: int


class MoeBlock(Row, frozen=True, kw_only=True):
    """Default blocks of the fused MoE kernel (moe_blocks.toml)."""

    first: str = ""
    last: str = ""
    weights: str
    block_m: int
    block_n: int
    block_k: int
    stages: int
    when: str

    @property
    def shared_memory(self) -> int:
        """Bytes that Triton asks for at one byte a value."""
        return (self.stages - 1) * (self.block_m + self.block_n) * self.block_k


class TunedMoe(Row, frozen=True, kw_only=True):
    """One tuned configuration (moe_tuned.toml)."""

    experts: int
    n: int
    device: str


def choices(topic: str, server: Server, case: Case) -> Iterator[KernelChoice]:
    """The rows that speak of what the launch line asks for, one for each setting."""
    line, answered = server.line, set()
    if line is None:
        return
    for row in read_table("kernel_choices", KernelChoice):
        if row.topic != topic or row.setting in answered or line.text(row.setting) not in row.values:
            continue
        if _fits(row, server, case):
            answered.add(row.setting)
            yield row


def shared_memory(capability: str) -> SharedMemory | None:
    """What a block can have on this GPU."""
    rows = read_table("shared_memory", SharedMemory)
    return next((row for row in rows if has_capability(row.capabilities, capability)), None)


def moe_block(version: str, model: ModelFacts) -> MoeBlock | None:
    """The blocks that this version takes for the model by default, where they are large ones."""
    stored = model.quantisation
    if not model.experts or stored is None or stored.block_size:
        return None
    rows = read_table("moe_blocks", MoeBlock)
    return next((row for row in rows if row.weights == stored.weights and within(version, row.first, row.last)), None)


def tuned_moe(model: ModelFacts, tp_size: int) -> TunedMoe | None:
    """A tuned configuration for a model of this shape; SGLang takes it on that one product alone."""
    experts = (model.experts, model.experts + model.shared_experts)
    n = model.moe_intermediate_size // tp_size
    return next((row for row in read_table("moe_tuned", TunedMoe) if row.experts in experts and row.n == n), None)


def _fits(row: KernelChoice, server: Server, case: Case) -> bool:
    model = server.model
    if not within(server.version, row.first, row.last) or not has_capability(row.capabilities, server.capability):
        return False
    if row.weights and (model is None or model.weights not in row.weights):
        return False
    if row.moe and (model is None or not model.experts):
        return False
    if not row.package:
        return True
    installed = case.distribution(row.package)
    return installed is not None and bool(older(installed.version, row.below))

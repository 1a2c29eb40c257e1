"""The architecture lists of FlashInfer, torch extensions and tvm-ffi, with the suffix that each of them needs."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from sm120kit.diagnosis import Case, Known, Release, read_table
from sm120kit.diagnosis.architectures import release_supports
from sm120kit.diagnosis.tables import Row
from sm120kit.environment.home import Home
from sm120kit.environment.types import KEPT, Variable

Builder = Literal["flashinfer", "torch", "tvm-ffi"]


class CompileTarget(Row, frozen=True, kw_only=True):
    """What one builder is to be told for one compute capability, from a version of the builder on."""

    builder: Builder
    since: str
    """Oldest version of the builder for which this was read."""
    compute_capability: str
    targets: tuple[str, ...]
    """As written in the builder's list, best first; the first that nvcc knows is taken: ``12.0f``, ``12.0a``."""


class _ArchList(NamedTuple):
    """One list: who reads it and from which distribution, how it is called, how entries are separated."""

    builder: Builder
    distribution: str
    variable: str
    separator: str


_LISTS = (
    _ArchList("flashinfer", "flashinfer-python", "FLASHINFER_CUDA_ARCH_LIST", " "),
    _ArchList("torch", "torch", "TORCH_CUDA_ARCH_LIST", ";"),
    _ArchList("tvm-ffi", "apache-tvm-ffi", "TVM_FFI_CUDA_ARCH_LIST", " "),
)


def architecture_variables(case: Case, home: Home) -> Iterator[Variable]:
    """One list per builder that is installed, if each GPU's target is known for its version and this nvcc."""
    capabilities = case.compute_capabilities
    if not isinstance(capabilities, Known) or home.release is None:
        return
    for each in _LISTS:
        distribution = case.distribution(each.distribution)
        if distribution is None:
            continue
        targets = targets_for(each.builder, distribution.version, capabilities.value, home.release)
        if not targets:
            continue
        reason = (
            f"For compute capability {' and '.join(capabilities.value)}, as {each.distribution} "
            f"{distribution.version} and nvcc {home.release} spell it."
        )
        if any(target[-1] in "af" for target in targets):
            reason += (
                " Without the suffix, instructions of one generation alone (FP4, block-scaled MMA) do not compile."
            )
        own, current = each.separator.join(targets), case.snapshot.environment.get(each.variable, "")
        if current != own and _serves(current, targets):
            yield Variable(each.variable, "set-if-unset", f"{reason} {KEPT}", own)
        else:
            yield Variable(each.variable, "set", reason, own)


def targets_for(builder: Builder, version: str, capabilities: Sequence[str], nvcc: Release) -> tuple[str, ...]:
    """Entries of a builder's list: distinct, in the order of the capabilities.

    Empty where one of them is not known: a list that leaves a GPU out is worse than none.
    """
    targets = [_target(builder, version, capability, nvcc) for capability in capabilities]
    return tuple(dict.fromkeys(targets)) if all(targets) else ()


def _target(builder: Builder, version: str, capability: str, nvcc: Release) -> str:
    from packaging.version import InvalidVersion, Version

    try:
        installed = Version(version)
    except InvalidVersion:
        return ""
    rows = [
        row
        for row in read_table("compile_targets", CompileTarget)
        if (row.builder, row.compute_capability) == (builder, capability) and Version(row.since) <= installed
    ]
    newest = max(rows, key=lambda row: Version(row.since), default=None)
    return next((target for target in newest.targets if release_supports(nvcc, target)), "") if newest else ""


def _serves(current: str, targets: Sequence[str]) -> bool:
    """Whether a list that someone has set names every target, ``a`` counting for ``f``, and nothing unreadable."""
    entries = re.split("[ ;]", current)
    if not all(re.fullmatch(r"\d+\.\d+[af]?(\+PTX)?", entry) for entry in entries):
        return False
    named = {entry.removesuffix("+PTX") for entry in entries}
    return all(target in named or (target[-1] == "f" and f"{target[:-1]}a" in named) for target in targets)

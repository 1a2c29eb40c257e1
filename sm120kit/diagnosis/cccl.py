"""CCCL in one effective search path: which copy answers, and what its version does."""

from typing import Literal

import msgspec

from sm120kit.diagnosis.case import Use
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.snapshot.facts import Fact
from sm120kit.snapshot.types.toolkits import CcclCopy, Toolkit

Feature = Literal["headers-check", "headers-check-can-be-disabled"]


class CcclFeature(Row, frozen=True, kw_only=True):
    """Something that CCCL does from one version on."""

    feature: Feature
    since: str
    """CCCL_VERSION decoded (``3.0.0``)."""


class UsedCccl(msgspec.Struct, frozen=True):
    """The CCCL whose ``cuda/std`` a compile through one toolkit would read."""

    version: Fact[str]
    where: str
    brought_by: str = ""
    """The consumer that brings it; empty for the toolkit's own."""


def has_feature(version: str, feature: Feature) -> bool:
    """Whether CCCL of ``version`` does that."""
    rows = read_table("cccl_features", CcclFeature)
    since = next(row.since for row in rows if row.feature == feature)
    return version_key(version) >= version_key(since)


def version_key(version: str) -> tuple[int, ...]:
    """``3.10.1`` as numbers, for comparing; what is no number counts as 0."""
    return tuple(int(piece) if piece.isdigit() else 0 for piece in version.split("."))


def cuda_std_copy(toolkit: Toolkit) -> CcclCopy | None:
    """The copy in which the compiler finds ``cuda/std``: the first in its order that has it."""
    return next((copy for copy in toolkit.cccl_copies if copy.has_cuda_std), None)


def used_cccl(use: Use) -> tuple[UsedCccl, ...]:
    """Every CCCL that the takers of this toolkit read, and the toolkit's own where one of them (or nobody) brings none.

    Empty where ``cuda/std`` is found nowhere.
    """
    bundled = [consumer for consumer in use.consumers if consumer.bundled_cccl is not None]
    found = [
        UsedCccl(consumer.bundled_cccl, next(iter(consumer.include_dirs), consumer.distribution), consumer.name)
        for consumer in bundled
        if consumer.bundled_cccl is not None
    ]
    own = cuda_std_copy(use.toolkit)
    if own and (use.named or len(bundled) < len(use.consumers) or not use.consumers):
        found.append(UsedCccl(own.version, own.include_dir))
    return tuple(found)

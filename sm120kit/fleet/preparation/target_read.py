"""What was read of the environment that servers are to run in, as data."""

from __future__ import annotations

import msgspec

from sm120kit.fleet.spec import Gpu
from sm120kit.fleet.types import Struct
from sm120kit.snapshot.types.snapshot import Snapshot


class TargetRead(Struct, frozen=True):
    """A target, or what stands for one in a rehearsal."""

    snapshot: Snapshot
    python: str
    version: str
    version_source: str
    gpus: tuple[Gpu, ...]
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    unset: tuple[str, ...] = ()

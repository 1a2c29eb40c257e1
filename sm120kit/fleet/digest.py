"""Tells two launches apart that ask for different things."""

from __future__ import annotations

from hashlib import sha256

import msgspec
from msgspec.structs import replace

from sm120kit.fleet.spec import FleetSpec, ReplicaSpec


def digest_of(spec: FleetSpec) -> str:
    """The same for two launches of the same; what is measured anew each time does not count."""
    same = replace(spec, remarks=(), replicas=tuple(_without_measures(each) for each in spec.replicas))
    # Once through JSON, as the supervisor gets it: there 3 becomes 3.0 where a float belongs.
    same = msgspec.json.decode(msgspec.json.encode(same), type=FleetSpec)
    return sha256(msgspec.json.encode(same)).hexdigest()


def _without_measures(replica: ReplicaSpec) -> ReplicaSpec:
    return replace(replica, expected=None, gpus=tuple(replace(gpu, memory_used=0) for gpu in replica.gpus))

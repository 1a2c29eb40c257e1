"""Which two launches ask for the same."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from sm120kit.fleet.digest import digest_of
from sm120kit.fleet.spec import Expectation, FleetSpec, Gpu, Limits, ReplicaSpec

SPEC = FleetSpec(
    "qwen",
    "/models/qwen",
    (ReplicaSpec(0, 30000, 29500, (Gpu("GPU-1", 0, "some", "12.0", 1 << 36),)),),
    "0.5.23",
    "/venv/bin/python",
)


def test_the_supervisor_reads_the_same_launch_as_was_sent() -> None:
    sent = replace(SPEC, limits=Limits(drain=12))
    assert digest_of(msgspec.json.decode(msgspec.json.encode(sent), type=FleetSpec)) == digest_of(sent)


def test_what_is_measured_does_not_count() -> None:
    one = SPEC.replicas[0]
    busy = replace(one, gpus=(replace(one.gpus[0], memory_used=7),), expected=Expectation(37, 1000))
    assert digest_of(replace(SPEC, replicas=(busy,))) == digest_of(SPEC)


def test_what_is_asked_for_counts() -> None:
    assert digest_of(replace(SPEC, level="quick")) != digest_of(SPEC)
    assert digest_of(replace(SPEC, arguments=("--tp", "1"))) != digest_of(SPEC)

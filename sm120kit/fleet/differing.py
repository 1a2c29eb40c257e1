"""In what a launch differs from the fleet of its name that runs, as far as the state of that tells. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from sm120kit.fleet.spec import FleetSpec
from sm120kit.fleet.types import Fleet

_OTHERS = "something that the state does not keep: an argument of SGLang, a variable, a limit, a fault"


def differing(fleet: Fleet, spec: FleetSpec) -> str:
    """``level standard where it runs with quick; port 31000 where it runs with 30000``."""
    found = [
        f"{name} {wanted} where it runs with {runs}" for name, wanted, runs in _settings(fleet, spec) if wanted != runs
    ]
    return "; ".join(found) or _OTHERS


def _settings(fleet: Fleet, spec: FleetSpec) -> Iterator[tuple[str, object, object]]:
    if not fleet.replicas:  # a state that nobody of ours wrote
        return
    runs, wanted = fleet.replicas[0], spec.replicas[0]
    yield "rehearsal", _yes(spec.rehearsal is not None), _yes(fleet.rehearsal)
    yield "model", spec.model, fleet.model
    yield "served-model-name", spec.served_model_name or spec.model, fleet.served_model_name or fleet.model
    yield "SGLang", spec.sglang, fleet.sglang
    yield "level", spec.level, fleet.level
    yield "host", spec.host, fleet.host
    yield "servers", len(spec.replicas), len(fleet.replicas)
    yield "GPUs", _gpus(spec), ",".join(each.gpu_index for each in fleet.replicas) or "none"
    yield "first port", wanted.port, runs.port
    yield "first NCCL port", wanted.nccl_port, runs.nccl_port
    yield "max-running-requests", spec.requested or "not given", runs.requested or "not given"


def _gpus(spec: FleetSpec) -> str:
    return ",".join(str(gpu.index) for each in spec.replicas for gpu in each.gpus) or "none"


def _yes(value: bool) -> str:
    return "yes" if value else "no"

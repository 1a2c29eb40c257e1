"""Whether the GPUs are free for these servers, by their memory: process numbers mean little inside a container."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sm120kit.diagnosis.findings import at
from sm120kit.diagnosis.types import Evidence, Finding, Manual
from sm120kit.fleet.preflight.busy import is_busy
from sm120kit.fleet.preflight.findings import stops, warns
from sm120kit.fleet.preflight.gpu_users import users_of
from sm120kit.fleet.preflight.types import Answer
from sm120kit.fleet.preparation.forecast import Forecast
from sm120kit.fleet.preparation.prepare import Prepared
from sm120kit.fleet.spec import Gpu

_CHECK = "launch.gpu-busy"
_GIB = 1 << 30
_TENTH = 10


def ask_gpus(prepared: Prepared, _environment: Mapping[str, str]) -> Answer:
    """Memory that was taken on each GPU when the target was read."""
    spec = prepared.spec
    gpus = [gpu for replica in spec.replicas for gpu in replica.gpus]
    if not gpus:
        return Answer("gpus", "the servers use no GPU")
    forecasts = prepared.forecasts or (Forecast(None),) * len(spec.replicas)
    findings = tuple(
        finding
        for replica, forecast in zip(spec.replicas, forecasts, strict=True)
        for gpu in replica.gpus
        if is_busy(gpu)
        for finding in _busy(gpu, forecast, prepared)
    )
    free = min(gpu.memory_total - gpu.memory_used for gpu in gpus)
    which = "1 GPU," if len(gpus) == 1 else f"{len(gpus)} GPUs, at least"
    return Answer("gpus", f"{which} {free / _GIB:.1f} GiB free{' on each' if len(gpus) > 1 else ''}", findings)


def _busy(gpu: Gpu, forecast: Forecast, prepared: Prepared) -> Iterator[Finding]:
    plan = forecast.plan
    used, total = gpu.memory_used / _GIB, gpu.memory_total / _GIB
    evidence = [at(f"{used:.2f} GiB of {total:.2f} GiB are taken", "NVML"), *_whose(gpu, prepared)]
    name = f"GPU {gpu.index}"
    remedies = [
        Manual("See what runs there, and end it (in a container: on the host)", ("nvidia-smi",)),
        Manual("Leave it out: name the others with --gpus"),
    ]
    if plan and plan.predicted.failure:
        message = f"{name} has {used:.1f} GiB taken by others, and what is left is too little: {plan.predicted.failure}"
        yield stops(_CHECK, gpu.uuid, message, evidence, remedies)
    elif plan and plan.budget.free < 0:
        message = f"{name} has {used:.1f} GiB taken by others, and what is left is too little for graphs"
        yield stops(_CHECK, gpu.uuid, message, evidence, remedies)
    elif plan is None and gpu.memory_used * _TENTH > gpu.memory_total:
        message = f"{name} has {used:.1f} GiB taken by others, more than a tenth of the card"
        yield stops(_CHECK, gpu.uuid, message, evidence, remedies)
    else:
        granted = f": its server is predicted to grant {plan.predicted.granted}" if plan else ""
        message = f"{name} has {used:.1f} GiB taken by others, which its server's pool will lack{granted}"
        yield warns(_CHECK, gpu.uuid, message, evidence, remedies)


def _whose(gpu: Gpu, prepared: Prepared) -> list[Evidence]:
    return [at(text, "NVML, /proc") for text in users_of(gpu.uuid, prepared.case.snapshot)]

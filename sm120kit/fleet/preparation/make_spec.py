"""From an order, and what was read of the target for it, to the spec of a fleet. Pure."""

from __future__ import annotations

import re
import zlib

import msgspec

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.order import Order
from sm120kit.fleet.preparation.choose_gpus import share_out
from sm120kit.fleet.preparation.forecast import Forecast
from sm120kit.fleet.preparation.ports import ports_of
from sm120kit.fleet.preparation.settle_arguments import Settled
from sm120kit.fleet.spec import FleetSpec, Gpu, Rehearsal, ReplicaSpec
from sm120kit.fleet.types import Struct


class Ground(Struct, frozen=True):
    """What must be known beside the order itself."""

    settled: Settled
    python: str
    """The interpreter that the servers run in."""
    gpus: tuple[Gpu, ...]
    """Those chosen."""
    forecasts: tuple[Forecast, ...]
    """One for each server; empty for servers on the CPU."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    unset: tuple[str, ...] = ()
    warm_key: str = ""


def make_spec(order: Order, ground: Ground) -> FleetSpec:
    """One spec, in which nothing is left to be decided.

    Raises:
        Sm120kitError: the number of servers, their GPUs and their ports do not go together; exit code 2.
    """
    settled = ground.settled
    groups = replica_groups(order, settled, ground.gpus)
    grpc = ground.environment.get("SGLANG_ENABLE_GRPC", "").lower() in ("1", "true", "yes", "y")
    ports = ports_of(order, len(groups), settled.line, grpc=grpc)
    none = Forecast(None)
    told = ground.forecasts or (none,) * len(groups)
    replicas = tuple(
        ReplicaSpec(
            index=number,
            port=port.http,
            nccl_port=port.nccl,
            gpus=group,
            expected=forecast.expected,
            arguments=forecast.arguments,
        )
        for number, (group, port, forecast) in enumerate(zip(groups, ports, told, strict=True))
    )
    name = order.name or name_of(settled.model, rehearsal=order.rehearse)
    return FleetSpec(
        name=name,
        model=settled.model,
        replicas=replicas,
        sglang=settled.line.version,
        python=ground.python,
        arguments=settled.arguments,
        served_model_name=settled.served_model_name,
        host=settled.host,
        level=order.level,
        thinking=order.thinking,
        reasoning_parser=settled.line.text("reasoning_parser"),
        requested=settled.line.number("max_running_requests"),
        environment=ground.environment,
        unset=ground.unset,
        random_seed=zlib.crc32(name.encode()) >> 8,
        limits=order.limits,
        restart=order.restart,
        warm_key=ground.warm_key,
        log_folder=order.log_dir,
        rehearsal=Rehearsal(order.rehearsal.load_s, order.rehearsal.faults) if order.rehearse else None,
        keep=order.keep,
    )


def replica_groups(order: Order, settled: Settled, gpus: tuple[Gpu, ...]) -> tuple[tuple[Gpu, ...], ...]:
    """The GPUs of each server; empty groups for servers on the CPU.

    Raises:
        Sm120kitError: they do not share out, or ``--replicas`` asks for more than they give; exit code 2.
    """
    each = settled.line.gpus_per_server
    if settled.on_cpu:
        return ((),) * (order.replicas or 1)
    if not gpus:
        raise Sm120kitError(
            "--gpus none leaves nothing to start a server on", hint="Servers on the CPU also need: -- --device cpu"
        )
    wanted = order.replicas * each
    if wanted > len(gpus):
        raise Sm120kitError(
            f"--replicas {order.replicas} needs {wanted} GPUs, {each} for each, and there are {len(gpus)}",
            hint=f"Take --replicas {len(gpus) // each}, or leave it out"
            if each <= len(gpus)
            else "Take a smaller --tp-size",
        )
    return share_out(gpus[: wanted or len(gpus)], each)


def name_of(model: str, *, rehearsal: bool) -> str:
    """A fleet's name from its model's: ``qwen3-32b`` from ``/models/Qwen/Qwen3-32B``, ``rehearsal-qwen3-32b``."""
    folder = model.removesuffix("config.json") or model
    last = folder.rstrip("/").rpartition("/")[2].lower()
    words = re.sub(r"[^a-z0-9._]+", "-", last).strip("-._") or "fleet"
    return f"rehearsal-{words}"[:64].rstrip("-._") if rehearsal else words[:64].rstrip("-._")

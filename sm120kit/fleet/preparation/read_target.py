"""Reads the environment that servers are to run in, as they will have it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from sm120kit.diagnosis.case import Request
from sm120kit.environment import applied
from sm120kit.environment.reading import read_healthy
from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.fleet.order.order import Order
from sm120kit.fleet.preparation.gpus_of import gpus_of
from sm120kit.fleet.preparation.target_read import TargetRead
from sm120kit.snapshot.collect import take_snapshot
from sm120kit.snapshot.environment import read_environment
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.target import TargetOptions


def read_target(order: Order, caller: Mapping[str, str]) -> TargetRead:
    """The target with its SGLang, GPUs and variables.

    Raises:
        Sm120kitError: it cannot be examined, or holds no SGLang.
    """
    target = order.target
    file = read_environment(target.env_file, 0)[0] if target.env_file else {}
    base = {**caller, **file, **order.environment}
    options = TargetOptions(
        python=target.python,
        cuda_home=target.cuda_home,
        system_toolkits=not target.no_system_toolkits,
        variables=base,
        deep=target.deep,
    )
    healthy = read_healthy(options, Request(), target.data_dir)
    wanted = applied(healthy.environment, base)
    # What the servers will have is what is judged: a fault that the variables mend stops nothing.
    snapshot = healthy.case.snapshot if wanted == base else take_snapshot(replace(options, variables=wanted))
    interpreter = snapshot.interpreter
    if not isinstance(interpreter, Known):
        raise Sm120kitError(
            f"the target has no interpreter to run a server in: {interpreter.reason}",
            hint="Name it with --python",
            exit_code=TARGET_UNREADABLE,
        )
    sglang = healthy.case.distribution("sglang")
    if sglang is None:
        raise Sm120kitError(
            f"no SGLang is installed in {snapshot.target.path} ({snapshot.target.why})",
            hint="Name the environment that holds it with --python; without one: sm120kit launch --rehearse",
            exit_code=TARGET_UNREADABLE,
        )
    return TargetRead(
        snapshot=snapshot,
        python=interpreter.value.executable,
        version=sglang.version,
        version_source=sglang.path,
        gpus=gpus_of(snapshot),
        environment={name: value for name, value in wanted.items() if caller.get(name) != value},
        unset=tuple(sorted(caller.keys() - wanted.keys())),
    )

"""The level ``serve`` of ``sm120kit smoke``: a tiny model through the real launcher, verified, and stopped."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from sm120kit.cli.live_table import say
from sm120kit.cli.target_options import Asked
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.gpus import NvmlReader
from sm120kit.fleet.order.order import Order, RehearsalOrder, TargetOrder
from sm120kit.fleet.preflight.run import run_preflight
from sm120kit.fleet.preparation.prepare import Prepared, prepare
from sm120kit.fleet.settled import settled
from sm120kit.fleet.spec import Limits, RestartPolicy
from sm120kit.fleet.state import folder_of
from sm120kit.fleet.supervising import start
from sm120kit.fleet.types import Fleet
from sm120kit.smoke.serving import Served, judge_fleet
from sm120kit.smoke.tiny_model import write_tiny_model
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.snapshot import Snapshot

_SMALL = {
    "--load-format": "dummy",
    "--max-running-requests": "8",
    "--max-total-tokens": "16384",
    "--context-length": "2048",
    "--mem-fraction-static": "0.3",
}
"""What keeps one server small and quick; whatever of it is typed stays as typed."""

_LIMITS = Limits(start=900, answer=60, verify=300, hang=60, drain=20)
_LOOK_S = 0.1


def serve(target: Asked, snapshot: Snapshot, arguments: Sequence[str], *, data_dir: str, rehearse: bool) -> Served:
    """Start one server in the target, verify it at level load, and end it."""
    on_cpu = any(word in ("cpu", "--device=cpu") for word in arguments)
    if not (rehearse or on_cpu or _has_gpu()):
        lacking = "no GPU is here" if _may_hold_sglang(snapshot) else "no SGLang is installed, and no GPU is here"
        return Served(
            None,
            "unknown",
            f"nothing could be served: {lacking}; -- --device cpu serves without a GPU, --rehearse with a stand-in",
        )
    with _tiny_model() as model:
        order = _order(target, str(model), arguments, data_dir=data_dir, rehearse=rehearse, on_cpu=on_cpu)
        try:
            prepared = prepare(order)
            refused = run_preflight(prepared).stopping
        except Sm120kitError as error:
            return Served(None, "failed", f"no server could be started: {error.message}")
        if refused:
            return Served(None, "failed", f"no server was started: {refused[0].message}")
        return judge_fleet(*_run(prepared))


def _may_hold_sglang(snapshot: Snapshot) -> bool:
    installed = snapshot.distributions
    return not isinstance(installed, Known) or any(each.name == "sglang" for each in installed.value)


def _has_gpu() -> bool:
    """Whether one is here, whatever hardware the target was judged for."""
    try:
        return bool(NvmlReader().read())
    except Sm120kitError:
        return False


def _run(prepared: Prepared) -> tuple[Fleet, Fleet]:
    """The fleet as it was judged, and as it ended. Its folder stays where something is to be read in it."""
    attached = start(prepared.spec)
    try:
        while not settled(judged := attached.fleet()):
            time.sleep(_LOOK_S)
    finally:
        ended = attached.stop(prepared.spec.limits.drain)
    folder = folder_of(prepared.spec.name)
    if judged.verified:
        shutil.rmtree(folder.path, ignore_errors=True)
    else:
        say(f"sm120kit: what the server wrote is kept in {folder.logs}")
    return judged, ended


def _order(
    target: Asked, model: str, arguments: Sequence[str], *, data_dir: str, rehearse: bool, on_cpu: bool
) -> Order:
    typed = {word.partition("=")[0] for word in arguments}
    small = [word for flag, value in _SMALL.items() if flag not in typed for word in (flag, value)]
    http, nccl = _free_ports(2)
    options = target.options
    return Order(
        model=model,
        name=f"smoke-{os.getpid()}",
        served_model_name="tiny",
        gpus="none" if on_cpu else "0",
        base_port=http,
        base_nccl_port=nccl,
        rehearse=rehearse,
        limits=_LIMITS,
        restart=RestartPolicy(most=0),
        target=TargetOrder(
            python=options.python,
            cuda_home=options.cuda_home,
            no_system_toolkits=not options.system_toolkits,
            env_file=options.env_file,
            data_dir=data_dir,
        ),
        rehearsal=replace(RehearsalOrder(), **({"gpu": target.gpu} if target.gpu and rehearse else {})),
        arguments=(*small, *arguments),
    )


@contextmanager
def _tiny_model() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sm120kit-smoke-") as folder:
        yield write_tiny_model(Path(folder, "tiny"))


def _free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that are free now, low enough for every version of SGLang."""
    found: list[int] = []
    for port in range(21_000 + os.getpid() % 4_000, 29_000):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise Sm120kitError("no port from 21000 to 29000 is free on 127.0.0.1")

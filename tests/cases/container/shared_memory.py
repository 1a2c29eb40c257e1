"""Cases of container.shared-memory."""

from typing import Any

from sm120kit.diagnosis.case import NamedGpu, Request
from sm120kit.diagnosis.launch import LaunchLine
from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import GIB, driver, gpu, host, known, snapshot
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "container.shared-memory"

_EIGHT = driver(gpus=tuple(gpu(index) for index in range(8)))


def _container(shm: Any, kind: str = "docker", **changes: Any) -> Snapshot:
    return snapshot(host=host(container=known(kind), shm_size=shm), **changes)


def _launch(tp_size: int) -> Request:
    line = LaunchLine(
        arguments=("--tp-size", str(tp_size)),
        version="0.5.23",
        read_as="0.5.23",
        version_source="--sglang-version",
        given={"tp_size": tp_size},
        typed={"tp_size": f"--tp-size {tp_size}"},
    )
    return Request(launch=line)


_SMALL = known(64 << 20)

CASES = [
    healthy("64 GiB and eight GPUs", _container(known(64 * GIB), driver=_EIGHT)),
    broken(
        "docker's 64 MiB and eight GPUs",
        _container(_SMALL, driver=_EIGHT),
        a_warning("/dev/shm", "has 64 MiB", "8 GPUs"),
    ),
    broken(
        "Kubernetes, and tensor parallelism is asked for",
        _container(_SMALL, "kubernetes", driver=_EIGHT),
        an_error("/dev/shm", "--tp-size 8 needs it for NCCL"),
        request=_launch(8),
    ),
    broken(
        "GPUs named",
        _container(_SMALL),
        a_warning("/dev/shm", "4 GPUs"),
        request=Request((NamedGpu("rtx-5090", "12.0", 4),)),
    ),
    broken(
        "no container, and little all the same",
        _container(known(512 << 20), "none", driver=_EIGHT),
        a_warning("/dev/shm"),
    ),
    look_alike("exactly 1 GiB", _container(known(GIB), driver=_EIGHT)),
    not_applicable("one GPU", _container(_SMALL)),
    not_applicable("eight GPUs, and one is asked for", _container(_SMALL, driver=_EIGHT), request=_launch(1)),
    unknown("its size is not known", _container(Unknown("/dev/shm: No such file or directory"), driver=_EIGHT)),
]

"""The environment of a target as ``env`` and ``run`` give it: through its live toolkit view, where there is one."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from sm120kit.cli.target_options import Asked
from sm120kit.cli.text_option import text_option
from sm120kit.data_dir import DataDir, open_data_dir
from sm120kit.environment import compute
from sm120kit.environment.reading import Healthy, read_healthy
from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.facts import Known, Unknown

Function = TypeVar("Function", bound=Callable[..., Any])


def data_dir_option(function: Function) -> Function:
    """``--data-dir``: where repairs are kept."""
    return text_option("--data-dir", metavar="DIR", help="Where repairs are kept; else $XDG_DATA_HOME/sm120kit.")(
        function
    )


def healthy_target(target: Asked, data_dir: str) -> Healthy:
    """The target, and what a healthy run of it needs (:func:`read_healthy`).

    Raises:
        Sm120kitError: the target cannot be examined, or the options make no sense.
    """
    healthy = read_healthy(
        target.options, target.request(), data_dir, lambda options: replace(target, options=options).read()
    )
    gpu = "" if target.gpu or _sees_gpus(healthy) else _repaired_for(healthy, open_data_dir(data_dir))
    if not gpu:
        return healthy
    case = replace(healthy.case, request=replace(target, gpu=gpu).request())
    return Healthy(case, compute(case, healthy.environment.cuda_home))


def _sees_gpus(healthy: Healthy) -> bool:
    gpus = healthy.case.snapshot.driver.gpus
    return isinstance(gpus, Known) and bool(gpus.value)


def _repaired_for(healthy: Healthy, data_dir: DataDir) -> str:
    """The hardware that the live repair was made for by ``--gpu``, so that its variables are those of its script."""
    live = healthy.case.snapshot.live_view
    if not isinstance(live, Known) or healthy.environment.cuda_home != live.value.current:
        return ""
    from sm120kit.repair.journal import live_repair

    try:
        entry = live_repair(data_dir, posixpath.basename(posixpath.dirname(live.value.current)))
    except (Sm120kitError, OSError):  # a journal that cannot be read keeps nobody from the variables
        return ""
    return entry.record.gpu if entry else ""


def without_repair(healthy: Healthy) -> str:
    """That no repair is in these variables, and what is there in its place; empty where one is."""
    snapshot, home = healthy.case.snapshot, healthy.environment.cuda_home
    live = snapshot.live_view
    if isinstance(live, Known) and home == live.value.current:
        return ""
    taken = (
        f"these variables lead to {home}, as it is"
        if home
        else "these variables name no CUDA toolkit, since none with an nvcc was found"
    )
    if isinstance(live, Unknown):
        return f"no toolkit of links is live for {snapshot.target.path}: {taken}"
    why = "files that it leads to are gone" if live.value.gone else f"it was not made from {snapshot.target.cuda_home}"
    return f"the repair of {snapshot.target.path} is not used, since {why}: {taken}"

"""A target as one meets it who has sourced its env script: the only part of this room that reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from sm120kit.data_dir import open_data_dir
from sm120kit.diagnosis.case import Case, Request, standing_in
from sm120kit.environment.compute import compute
from sm120kit.environment.types import Environment
from sm120kit.snapshot.collect import take_snapshot
from sm120kit.snapshot.target import TargetOptions
from sm120kit.snapshot.types.snapshot import Snapshot


class Healthy(NamedTuple):
    """A target and the environment of a healthy run of it."""

    case: Case
    environment: Environment


def read_healthy(
    options: TargetOptions, request: Request, data_dir: str, read: Callable[[TargetOptions], Snapshot] = take_snapshot
) -> Healthy:
    """Read the target, and compute what a healthy run of it needs. CUDA_HOME is the live view of this target where that
    stands in for the toolkit it would take, also for one named by ``--cuda-home``; else what is named, else what its
    consumers take.

    Raises:
        Sm120kitError: the target cannot be examined, or the options make no sense.
    """
    options = replace(options, data_dir=open_data_dir(data_dir).path)
    snapshot = read(options)
    view = standing_in(snapshot)
    home = snapshot.target.cuda_home
    if view is not None:
        # A second look, as one who has sourced the script: the view's own parts decide what suits it.
        snapshot, home = read(replace(options, cuda_home=view.current)), view.current
    case = Case(snapshot, request)
    return Healthy(case, compute(case, home))

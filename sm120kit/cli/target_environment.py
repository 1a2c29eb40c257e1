"""The environment of a target as ``env`` and ``run`` give it: through its live toolkit view, where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from sm120kit.cli.target_options import Asked
from sm120kit.cli.text_option import text_option
from sm120kit.data_dir import open_data_dir
from sm120kit.diagnosis.case import Case, standing_in
from sm120kit.environment import Environment, compute

Function = TypeVar("Function", bound=Callable[..., Any])


def data_dir_option(function: Function) -> Function:
    """``--data-dir``: where repairs are kept."""
    return text_option("--data-dir", metavar="DIR", help="Where repairs are kept; else $XDG_DATA_HOME/sm120kit.")(
        function
    )


def environment_of(target: Asked, data_dir: str) -> Environment:
    """What a healthy run of the target needs. CUDA_HOME is the live view of this target where that stands in for the
    toolkit it would take, also for one named by ``--cuda-home``; else what is named, else what its consumers take.

    Raises:
        Sm120kitError: the target cannot be examined, or the options make no sense.
    """
    request = target.request()
    target = target._replace(options=replace(target.options, data_dir=open_data_dir(data_dir).path))
    snapshot = target.read()
    view = standing_in(snapshot)
    if view is None:
        return compute(Case(snapshot, request), snapshot.target.cuda_home)
    # A second look, as one who has sourced the script: the view's own parts decide what suits it.
    seen = target._replace(options=replace(target.options, cuda_home=view.current)).read()
    return compute(Case(seen, request), view.current)

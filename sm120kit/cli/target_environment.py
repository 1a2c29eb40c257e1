"""The environment of a target as ``env`` and ``run`` give it: through its live toolkit view, where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from sm120kit.cli.target_options import Asked
from sm120kit.diagnosis.case import Case
from sm120kit.environment import Environment, compute
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types import Snapshot

Function = TypeVar("Function", bound=Callable[..., Any])


def data_dir_option(function: Function) -> Function:
    """``--data-dir``: where repairs are kept."""
    return click.option(
        "--data-dir", metavar="DIR", default="", help="Where repairs are kept; else $XDG_DATA_HOME/sm120kit."
    )(function)


def environment_of(target: Asked, data_dir: str) -> Environment:
    """What a healthy run of the target needs. CUDA_HOME is ``--cuda-home`` where given, else the live view of this
    target, else the toolkit that its consumers take now.

    Raises:
        Sm120kitError: the target cannot be examined, or the options make no sense.
    """
    request = target.request()
    snapshot = target.read()
    cuda_home = snapshot.target.cuda_home or _live_view(snapshot, data_dir)
    if cuda_home and not snapshot.target.cuda_home:
        # A second look, as one who has sourced the script: the view's own parts decide what suits it.
        snapshot = target._replace(options=replace(target.options, cuda_home=cuda_home)).read()
    return compute(Case(snapshot, request), cuda_home)


def _live_view(snapshot: Snapshot, data_dir: str) -> str:
    if not snapshot.target.live:
        return ""
    from sm120kit.data_dir import open_data_dir, target_key
    from sm120kit.snapshot.live_view import read_live_view

    interpreter = snapshot.interpreter
    place = interpreter.value.prefix if isinstance(interpreter, Known) else snapshot.target.path
    view = read_live_view(open_data_dir(data_dir), target_key(place), snapshot.environment)
    return view.value.current if isinstance(view, Known) else ""

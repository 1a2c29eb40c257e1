"""The environment of a target as ``env`` and ``run`` give it: through its live toolkit view, where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from sm120kit.cli.target_options import Asked
from sm120kit.cli.text_option import text_option
from sm120kit.environment.reading import Healthy, read_healthy

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
    return read_healthy(
        target.options, target.request(), data_dir, lambda options: replace(target, options=options).read()
    )

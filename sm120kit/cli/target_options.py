"""The options that say which target is examined, shared by all commands that examine one."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click
import msgspec

from sm120kit.cli.options import option
from sm120kit.cli.saying import say
from sm120kit.cli.text_option import text_option
from sm120kit.diagnosis.case import Request
from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.target import TargetOptions
from sm120kit.snapshot.types.snapshot import Snapshot

Function = TypeVar("Function", bound=Callable[..., Any])

_LIVE_OPTIONS = (
    "python",
    "site_packages",
    "cuda_home",
    "root",
    "image_archive",
    "env_file",
    "pid",
    "no_system_toolkits",
    "deep",
)
"""Parameters that tell how to read a target, and mean nothing for a snapshot that was read already."""


class Asked(msgspec.Struct, frozen=True):
    """A target as named on the command line."""

    options: TargetOptions
    gpu: str = ""
    driver: str = ""
    snapshot: str = ""
    """Path of a snapshot that stands in for a target; empty = none."""
    given: str = ""
    """The first option, as written, that says how to read a target; empty = none was given."""

    def request(self) -> Request:
        """The what-if hardware.

        Raises:
            Sm120kitError: ``--gpu`` or ``--driver`` cannot be understood; exit code 2.
        """
        if self.driver and not re.fullmatch(r"\d{3,4}(\.\d+){0,2}", self.driver):
            raise Sm120kitError(f"--driver {self.driver} is no driver version", hint="Write it as 580 or 580.95.05")
        if not self.gpu:
            return Request(driver=self.driver)
        from sm120kit.diagnosis.hardware import parse_gpus

        return Request(parse_gpus(self.gpu), self.driver)

    def read(self) -> Snapshot:
        """The snapshot named, or one taken now.

        Raises:
            Sm120kitError: the target or the snapshot cannot be read.
        """
        if self.snapshot:
            from sm120kit.snapshot.store import load_snapshot

            return load_snapshot(self.snapshot)
        from sm120kit.snapshot.collect import take_snapshot

        return take_snapshot(self.options)


def complete_gpu(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names that ``--gpu`` takes."""
    from sm120kit.diagnosis.gpus import gpu_models

    return [row.name for row in gpu_models() if row.name.startswith(incomplete)]


_OPTIONS = (
    text_option("--python", metavar="PATH", help="Examine the environment of this interpreter."),
    text_option("--site-packages", metavar="DIR", help="Examine these packages; no interpreter needed."),
    text_option("--root", metavar="DIR", help="Examine an unpacked image; nothing in it is executed."),
    text_option("--image-archive", metavar="FILE", help="Examine the image in this archive, without unpacking it."),
    text_option("--cuda-home", metavar="DIR", help="Judge this toolkit, in place of CUDA_HOME."),
    option("--no-system-toolkits", is_flag=True, help="Leave out toolkits outside the target."),
    text_option("--env-file", metavar="FILE", help="Variables: KEY=VALUE lines, or /proc/PID/environ."),
    option("--pid", metavar="N", type=click.IntRange(min=1), default=None, help="Variables of this process."),
    text_option("--gpu", metavar="SPEC", shell_complete=complete_gpu,
                 help="Judge for this hardware: rtx-pro-6000x8, rtx-5090, b200x7, 12.0, ..."),
    text_option("--driver", metavar="VERSION", help="Judge for this driver version."),
    option("--deep", is_flag=True, help="Read big binaries too; takes seconds."),
    text_option("--snapshot", metavar="FILE", help="Judge a saved snapshot; - reads standard input."),
)  # fmt: skip


def target_options(*, takes_snapshot: bool, takes_image: bool = True) -> Callable[[Function], Function]:
    """Add the shared options to a command; it gets them as one argument ``target`` of type :class:`Asked`.

    ``takes_snapshot`` False: the command writes or runs something, and refuses ``--snapshot``. ``takes_image`` False:
    it executes something in the target, and refuses ``--root`` and ``--image-archive``. Help does not offer what is
    refused.
    """
    refused = (() if takes_snapshot else ("snapshot",)) + (() if takes_image else ("root", "image_archive"))

    def decorate(function: Function) -> Function:
        @wraps(function)
        def with_target(**parameters: Any) -> Any:
            return function(target=_asked(parameters, takes_snapshot=takes_snapshot), **parameters)

        decorated: Any = with_target
        for decorator in reversed(_OPTIONS):
            decorated = decorator(decorated)
        for parameter in decorated.__click_params__:
            if isinstance(parameter, click.Option) and parameter.name in refused:
                parameter.hidden = True
        result: Function = decorated
        return result

    return decorate


def _say_what_was_left_out(env_file: str) -> None:
    from sm120kit.snapshot.environment import lines_left_out

    if env_file and (number := lines_left_out(env_file)):
        lines, hold, were = ("line", "holds", "was") if number == 1 else ("lines", "hold", "were")
        say(f"{number} {lines} of {env_file} {hold} no variable and {were} left out")


def _asked(parameters: dict[str, Any], *, takes_snapshot: bool) -> Asked:
    """Take the shared options out of ``parameters``."""
    live = {name: parameters.pop(name) for name in _LIVE_OPTIONS}
    gpu, driver, snapshot = (parameters.pop(name) for name in ("gpu", "driver", "snapshot"))
    if snapshot and not takes_snapshot:
        raise Sm120kitError(
            "--snapshot does not go with this command: a snapshot is a record, nothing can be run or changed in it",
            hint="Name the target itself, or judge the snapshot with: sm120kit doctor --snapshot FILE",
        )
    given = next((f"--{name.replace('_', '-')}" for name, value in live.items() if value), "")
    if snapshot and given:
        raise Sm120kitError(
            f"--snapshot and {given} contradict each other: a snapshot was read already",
            hint=f"Give {given} when the snapshot is taken: sm120kit snapshot {given} …",
        )
    _say_what_was_left_out(live["env_file"])
    options = TargetOptions(
        python=live["python"],
        site_packages=live["site_packages"],
        cuda_home=live["cuda_home"],
        system_toolkits=not live["no_system_toolkits"],
        root=live["root"],
        image_archive=live["image_archive"],
        env_file=live["env_file"],
        pid=live["pid"] or 0,
        ask_driver=not gpu,
        deep=live["deep"],
    )
    return Asked(options, gpu, driver, snapshot, given)

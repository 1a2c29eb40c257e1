"""Takes a snapshot: every collector once, side by side where they do not need each other, within one time limit."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

from sm120kit.data_dir import open_data_dir, target_key
from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.snapshot.build_tools import read_build_tools
from sm120kit.snapshot.consumers import find_consumers
from sm120kit.snapshot.consumers.matching import homes_of, match_consumers
from sm120kit.snapshot.driver import read_driver
from sm120kit.snapshot.facts import Fact, Known, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.host import read_host
from sm120kit.snapshot.host_compilers import read_host_compilers
from sm120kit.snapshot.jit_caches import read_build_locks, read_built_modules
from sm120kit.snapshot.link_probe import ask_linkers
from sm120kit.snapshot.live_view import read_live_view
from sm120kit.snapshot.loader import Loader
from sm120kit.snapshot.mounts import slow_mounts
from sm120kit.snapshot.nvcc_on_path import read_nvcc_on_path
from sm120kit.snapshot.records import Distributions, RecordIndex
from sm120kit.snapshot.requirements import read_lacking
from sm120kit.snapshot.runner import end_all
from sm120kit.snapshot.sglang_pins import read_sglang_pins
from sm120kit.snapshot.shared_objects import read_shared_objects
from sm120kit.snapshot.target import ResolvedTarget, TargetOptions, resolve_target
from sm120kit.snapshot.toolkits import read_toolkits
from sm120kit.snapshot.torch_build import read_torch_build
from sm120kit.snapshot.types.machine import Mount
from sm120kit.snapshot.types.snapshot import SCHEMA, Snapshot
from sm120kit.snapshot.types.views import LiveView
from sm120kit.snapshot.variables import kept_variables
from sm120kit.snapshot.wheel_libraries import library_dirs, read_shadows, read_shared_files
from sm120kit.version import __version__

if TYPE_CHECKING:  # most targets are no archive and on no such mount, and never load what reads them
    from sm120kit.snapshot.image.open import Image
    from sm120kit.snapshot.slow_reader import KillableReader

TIME_LIMIT_S = 60.0
"""Seconds for the whole. Every collector has shorter limits of its own; this one is for what cannot be interrupted,
such as a local disk that no longer answers."""

T = TypeVar("T")


def take_snapshot(options: TargetOptions, *, limit_s: float = TIME_LIMIT_S) -> Snapshot:
    """Read the target that ``options`` name. Whatever cannot be read is unknown in the snapshot, with the reason.

    Raises:
        Sm120kitError: the options contradict each other (exit code 2), or the target cannot be examined (4).
    """
    mountinfo = _mountinfo()
    slow = slow_mounts(mountinfo)
    image = _open_image(options.image_archive) if options.image_archive else None
    reader = _slow_reader(options.root) if slow and not image else None
    try:
        files = image.files if image else Files(options.root, slow, reader)
        return _Task(lambda: _take(options, mountinfo, slow, files, image)).result(limit_s)
    except TimeoutError as error:
        raise Sm120kitError(
            f"the target was not read within {limit_s:g} s: a disk or a program does not answer",
            hint="Look for processes in state D with: ps -eo pid,stat,wchan:30,args",
            exit_code=TARGET_UNREADABLE,
        ) from error
    finally:
        end_all()
        if reader:
            reader.close()


def _take(
    options: TargetOptions, mountinfo: str, slow: tuple[Mount, ...], files: Files, image: Image | None
) -> Snapshot:
    resolved = resolve_target(options, files, image)
    context = resolved.context
    loader = Loader.of(context)
    # Side by side goes what waits for a program. Threads that read files would only wrestle for the interpreter.
    driver = _Task(lambda: read_driver(context, loader, ask=options.ask_driver))
    distributions = Distributions.read(context.files, context.site_packages)
    torch = read_torch_build(context)
    found = find_consumers(context, distributions, torch)
    records = RecordIndex(context.files, distributions.starting_with("nvidia-"))
    view = _live_view(options, resolved)
    toolkits = read_toolkits(context, records, {**_homes_behind(view), **homes_of(context, found)})
    consumers = match_consumers(context, found, toolkits)
    folders = cache(lambda: library_dirs(context.files, context.site_packages))
    compilers = _Task(lambda: read_host_compilers(context))
    probes = ask_linkers(context, consumers, toolkits)
    return Snapshot(
        schema=SCHEMA,
        tool_version=__version__,
        taken_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        target=context.target,
        host=read_host(context, loader, mountinfo, slow),
        driver=driver.result(),
        interpreter=resolved.interpreter,
        distributions=distributions.fact,
        torch=torch,
        toolkits=toolkits,
        consumers=consumers,
        link_probes=probes,
        host_compilers=compilers.result(),
        nvcc_on_path=read_nvcc_on_path(context),
        environment=kept_variables(context.environment),
        live_view=view,
        loader_dirs=loader.variable_dirs,
        shared_objects=read_shared_objects(loader, distributions, folders, resolved.interpreter),
        shared_files=read_shared_files(context.files, distributions),
        shadows=read_shadows(loader, folders, records),
        build_tools=read_build_tools(context, resolved.interpreter),
        build_locks=read_build_locks(context, distributions),
        built_modules=read_built_modules(context, distributions),
        sglang_requires=read_sglang_pins(context, distributions),
        lacking=read_lacking(context, distributions),
    )


def _live_view(options: TargetOptions, resolved: ResolvedTarget) -> Fact[LiveView]:
    target, interpreter = resolved.context.target, resolved.interpreter
    if not target.live:
        return Unknown("an unpacked image is not looked through for repairs")
    data_dir = open_data_dir(options.data_dir)
    if not os.path.isdir(data_dir.targets):  # the key of a target costs an import that most machines need not pay
        return Unknown(f"this target has no repair in {data_dir.path}")
    place = interpreter.value.prefix if isinstance(interpreter, Known) else target.path
    return read_live_view(data_dir, target_key(place), resolved.context.environment)


def _homes_behind(view: Fact[LiveView]) -> dict[str, str]:
    """The trees that a live view leads to: once CUDA_HOME names the view, nothing else may name them."""
    if isinstance(view, Unknown) or isinstance(view.value.manifest, Unknown):
        return {}
    return dict.fromkeys(view.value.manifest.value.homes, "the live repair")


class _Task(Generic[T]):
    """A function at work in a thread that no exit waits for."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._answer: T | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer = self._work()
        except BaseException as error:
            self._error = error

    def result(self, limit_s: float | None = None) -> T:
        """What the function returned or raised; TimeoutError where it is still at work after ``limit_s`` seconds."""
        self._thread.join(limit_s)
        if self._thread.is_alive():
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._answer  # type: ignore[return-value]


def _slow_reader(root: str) -> KillableReader:
    from sm120kit.snapshot.slow_reader import KillableReader

    return KillableReader(root)


def _open_image(archive: str) -> Image:
    from sm120kit.snapshot.image.open import open_image

    return open_image(os.path.abspath(archive))


def _mountinfo() -> str:
    try:
        return Files().text("/proc/self/mountinfo")
    except OSError:
        return ""

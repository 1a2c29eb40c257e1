"""Everything read from a target, as plain data: serialisable, comparable, enough to diagnose elsewhere."""

from __future__ import annotations

from typing import Literal

from sm120kit.snapshot.facts import Fact, Unknown
from sm120kit.snapshot.types.base import Struct
from sm120kit.snapshot.types.jit import BuildLock, BuildTools, BuiltModules
from sm120kit.snapshot.types.machine import Driver, Host
from sm120kit.snapshot.types.packages import (
    Distribution,
    Interpreter,
    Lacking,
    Shadow,
    SharedFile,
    SharedObject,
    TorchBuild,
)
from sm120kit.snapshot.types.toolkits import Consumer, HostCompiler, LinkProbe, Nvcc, Toolkit
from sm120kit.snapshot.types.views import LiveView

SCHEMA = "sm120kit.snapshot/1"


class Target(Struct, frozen=True):
    """What was examined and why that one."""

    kind: Literal["interpreter", "site-packages", "root"]
    path: str
    why: str
    root: str = ""
    cuda_home: str = ""
    system_toolkits: bool = True
    environment: str = "this process"
    live: bool = True
    """False where nothing could be executed or asked (``--root``): facts come from names and files alone."""
    image: str = ""
    """Of an archive that was read as it is (its path is ``root``): name, layout and platform of the image."""


class Snapshot(Struct, frozen=True):
    """The whole of what was read. ``schema`` is checked on load."""

    schema: str
    tool_version: str
    taken_at: str
    """UTC, ISO 8601. Volatile: ignored by diff."""
    target: Target
    host: Host
    driver: Driver
    interpreter: Fact[Interpreter]
    distributions: Fact[tuple[Distribution, ...]]
    """Sorted by name, then as imports find them; one name twice = two dist-info folders."""
    torch: Fact[TorchBuild]
    toolkits: tuple[Toolkit, ...]
    consumers: tuple[Consumer, ...]
    link_probes: tuple[LinkProbe, ...]
    host_compilers: tuple[HostCompiler, ...]
    nvcc_on_path: tuple[Nvcc, ...]
    environment: dict[str, str]
    """Variables by allow-list; secrets never enter."""
    live_view: Fact[LiveView] = Unknown("no data folder was looked into")
    """Unknown where this target was never repaired."""
    loader_dirs: tuple[str, ...] = ()
    """LD_LIBRARY_PATH folders in order."""
    shared_objects: tuple[SharedObject, ...] = ()
    """Of the kernel packages that are installed."""
    shared_files: tuple[SharedFile, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    build_tools: BuildTools = BuildTools()
    build_locks: tuple[BuildLock, ...] = ()
    built_modules: tuple[BuiltModules, ...] = ()
    sglang_requires: Fact[tuple[str, ...]] = Unknown("the metadata of sglang was not looked at")
    """Requires-Dist lines of the installed SGLang that pin a version and belong to no extra, as written."""
    lacking: Fact[tuple[Lacking, ...]] = Unknown("what installed packages require was not looked at")
    """What the installed serving packages require, and is not installed at all."""


class Change(Struct, frozen=True):
    """One difference between two snapshots, as people name it: ``package torch``, ``2.14.0``, ``2.14.1``."""

    what: str
    before: str
    """``absent`` where the thing was not there."""
    after: str

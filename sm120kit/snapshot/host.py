"""The machine or container that the target runs on: kernel, C libraries, processors, memory, signs of a GPU."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable
from typing import TypeVar

from sm120kit.snapshot.cgroups import cpu_limit, memory_limits
from sm120kit.snapshot.container import container_kind
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.loader import Loader
from sm120kit.snapshot.pci_paths import read_pci_paths
from sm120kit.snapshot.types.machine import Host, Mount

T = TypeVar("T")

_LIBRARY_LIMIT = 16 << 20
_NO_HARDWARE = Unknown("an unpacked image has no hardware and no kernel of its own")
_PCI = "/sys/bus/pci/devices"


def read_host(context: Context, loader: Loader, mountinfo: str, slow: tuple[Mount, ...]) -> Host:
    """Read it. ``mountinfo`` is the text of /proc/self/mountinfo; inside ``--root`` only files of the image count."""
    files = context.files
    distribution = _attempt(lambda: _distribution(files))
    libstdcxx = _attempt(lambda: _libstdcxx(loader))
    if files.root:
        return Host(
            architecture=Known(loader.machine, Source("file", "ELF header"))
            if loader.machine
            else Unknown("no program of the image tells its architecture"),
            kernel=_NO_HARDWARE,
            distribution=distribution,
            glibc=_attempt(lambda: _glibc_of_files(loader)),
            libstdcxx=libstdcxx,
            container=_NO_HARDWARE,
            cpus=_NO_HARDWARE,
            memory_total=_NO_HARDWARE,
            memory_available=_NO_HARDWARE,
            shm_size=_NO_HARDWARE,
            device_nodes=_NO_HARDWARE,
            pci_gpus=_NO_HARDWARE,
            slow_mounts=slow,
        )
    groups = _text_or_nothing(files, "/proc/self/cgroup")
    memory_total, memory_available = memory_of(files, groups, mountinfo)
    uname = Source("system", "uname")
    pci_gpus = _attempt(lambda: pci_gpus_of(files))
    return Host(
        architecture=Known(os.uname().machine, uname),
        kernel=Known(os.uname().release, uname),
        distribution=distribution,
        glibc=_attempt(_glibc_of_process),
        libstdcxx=libstdcxx,
        container=container_kind(files, os.environ, groups, mountinfo),
        cpus=_attempt(lambda: _cpus(files, groups, mountinfo)),
        memory_total=memory_total,
        memory_available=memory_available,
        shm_size=_attempt(_shm_size),
        device_nodes=_attempt(lambda: device_nodes_of(files)),
        pci_gpus=pci_gpus,
        slow_mounts=slow,
        pci_paths=read_pci_paths(files, pci_gpus.value) if isinstance(pci_gpus, Known) else (),
    )


def _attempt(read: Callable[[], Fact[T]]) -> Fact[T]:
    try:
        return read()
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return Unknown(f"{where}{error.strerror or error}")


def _distribution(files: Files) -> Fact[str]:
    path = "/etc/os-release"
    match = re.search(r"^PRETTY_NAME=(.*)$", files.text(path), re.MULTILINE)
    if not match:
        return Unknown(f"{path} has no PRETTY_NAME")
    return Known(match[1].strip().strip("\"'"), Source("file", path))


def _glibc_of_process() -> Fact[str]:
    try:
        answer = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except ValueError:
        answer = ""
    name, _, version = answer.partition(" ")
    if name != "glibc":
        return Unknown("the C library of this system is not glibc")
    return Known(version, Source("system", "confstr(CS_GNU_LIBC_VERSION)"))


def _glibc_of_files(loader: Loader) -> Fact[str]:
    for path in loader.find_all("libc.so.6"):
        named = re.fullmatch(r"libc-(\d+\.\d+)\.so", posixpath.basename(loader.files.real(path)))
        if named:
            return Known(named[1], Source("file", path))
        match = re.search(rb"GNU C Library[^\n]*version (\d+\.\d+)", loader.files.read(path, _LIBRARY_LIMIT))
        if match:
            return Known(match[1].decode(), Source("file", path))
    return Unknown("no libc.so.6 of the image tells its version")


def _libstdcxx(loader: Loader) -> Fact[str]:
    """By the file's full name, libstdc++.so.6.0.N for GLIBCXX_3.4.N (GCC's manual, ABI history), else its symbols."""
    paths = loader.find_all("libstdc++.so.6")
    if not paths:
        return Unknown("no libstdc++.so.6 on the loader's path")
    path = paths[0]
    named = re.fullmatch(r"libstdc\+\+\.so\.6\.0\.(\d+)", posixpath.basename(loader.files.real(path)))
    if named:
        return Known(f"3.4.{named[1]}", Source("file", path))
    symbols = re.findall(rb"\0GLIBCXX_3\.4\.(\d{1,4})(?=\0)", loader.files.read(path, _LIBRARY_LIMIT))
    if not symbols:
        return Unknown(f"{path} names no GLIBCXX version")
    return Known(f"3.4.{max(int(symbol) for symbol in symbols)}", Source("file", path))


def _cpus(files: Files, groups: str, mountinfo: str) -> Fact[int]:
    allowed = len(os.sched_getaffinity(0))
    limit = cpu_limit(files, groups, mountinfo)
    if limit and limit.value < allowed:
        return Known(limit.value, Source("file", limit.path))
    return Known(allowed, Source("system", "sched_getaffinity"))


def memory_of(files: Files, groups: str, mountinfo: str) -> tuple[Fact[int], Fact[int]]:
    """Total and available bytes: the machine's, or what the tightest control group leaves."""
    path = "/proc/meminfo"
    try:
        lines = files.text(path).splitlines()
    except OSError as error:
        unknown = Unknown(f"{path}: {error.strerror}")
        return unknown, unknown
    matches = (re.match(r"(\w+):\s+(\d{1,15}) kB", line) for line in lines)
    figures = {match[1]: int(match[2]) << 10 for match in matches if match}
    limits = memory_limits(files, groups, mountinfo)
    facts: list[Fact[int]] = []
    for name, of_groups in (
        ("MemTotal", [(limit.total, limit.path) for limit in limits]),
        ("MemAvailable", [(limit.available, limit.path) for limit in limits]),
    ):
        if name not in figures:
            facts.append(Unknown(f"{path} has no {name}"))
            continue
        value, where = min([(figures[name], path), *of_groups])
        facts.append(Known(value, Source("file", where)))
    return facts[0], facts[1]


def _shm_size() -> Fact[int]:
    path = "/dev/shm"
    answer = os.statvfs(path)
    return Known(answer.f_blocks * answer.f_frsize, Source("file", path))


def device_nodes_of(files: Files) -> Fact[tuple[str, ...]]:
    """Device nodes of an NVIDIA GPU, sorted. Raises OSError where /dev cannot be listed."""
    names = [name for name in files.names("/dev") if name == "dxg" or name.startswith("nvidia")]
    nodes = [f"/dev/{name}" for name in names if not files.is_dir(f"/dev/{name}")]
    if "nvidia-caps" in names:
        nodes += [f"/dev/nvidia-caps/{name}" for name in files.names("/dev/nvidia-caps")]
    return Known(tuple(sorted(nodes)), Source("file", "/dev"))


def pci_gpus_of(files: Files) -> Fact[tuple[str, ...]]:
    """Display devices of vendor 10de. Raises OSError where the bus cannot be listed."""
    found = []
    for address in files.names(_PCI):
        device = f"{_PCI}/{address}"
        if _text_or_nothing(files, f"{device}/vendor").strip() != "0x10de":
            continue
        if _text_or_nothing(files, f"{device}/class").startswith("0x03"):
            number = _text_or_nothing(files, f"{device}/device").strip().removeprefix("0x")
            found.append(f"{address} 10de:{number}")
    return Known(tuple(found), Source("file", _PCI))


def _text_or_nothing(files: Files, path: str) -> str:
    try:
        return files.text(path, 1 << 16)
    except OSError:
        return ""

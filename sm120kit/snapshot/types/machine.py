"""The machine that a target runs on: host, mounts, driver, GPUs, as plain data."""

from __future__ import annotations

from sm120kit.snapshot.facts import Fact, Unknown
from sm120kit.snapshot.types.base import Struct


class Mount(Struct, frozen=True):
    """A network or fuse file system below which paths were read in a killable child."""

    path: str
    file_system: str


class PciPath(Struct, frozen=True):
    """What lies between one GPU and its peers on the PCI bus."""

    address: str
    """``0000:01:00.0``"""
    iommu: Fact[str]
    """Type of its IOMMU group: ``identity``, ``DMA``, ``DMA-FQ``; ``none`` where it is in no group."""
    redirecting: Fact[tuple[str, ...]]
    """Bridges above it whose Access Control Services send requests of one peer to another up to the root."""


class Host(Struct, frozen=True):
    """The machine (or container) the target runs on."""

    architecture: Fact[str]
    kernel: Fact[str]
    distribution: Fact[str]
    glibc: Fact[str]
    libstdcxx: Fact[str]
    """Newest GLIBCXX symbol version of the system's libstdc++.so.6, such as ``3.4.30``."""
    container: Fact[str]
    """``none``, ``lxc``, ``docker``, ``podman``, ``kubernetes``, ``systemd-nspawn``, ``wsl2`` or another kind."""
    cpus: Fact[int]
    memory_total: Fact[int]
    memory_available: Fact[int]
    shm_size: Fact[int]
    device_nodes: Fact[tuple[str, ...]]
    """Paths of /dev/nvidia* and /dev/dxg, sorted."""
    pci_gpus: Fact[tuple[str, ...]]
    """PCI display devices of vendor 10de: ``0000:01:00.0 10de:2bb5``."""
    slow_mounts: tuple[Mount, ...] = ()
    pci_paths: tuple[PciPath, ...] = ()
    """How peers reach each GPU of ``pci_gpus``, where there are several."""


class GpuProcess(Struct, frozen=True):
    """A process that computes on a GPU, by the number that the driver knows it by: inside a container that is one of
    the host's."""

    pid: int
    memory: int = 0
    """Bytes; 0 = not told."""


class Gpu(Struct, frozen=True):
    """One GPU as NVML tells it (a MIG instance's parent is listed once, its instances in ``mig_devices``)."""

    index: int
    name: str
    uuid: str
    compute_capability: str
    """``12.0``"""
    memory_total: Fact[int]
    memory_free: Fact[int]
    mig_devices: tuple[str, ...] = ()
    pci_bus_id: str = ""
    nvlinks: Fact[int] = Unknown("NVML was not asked for NVLink")
    """How many of its NVLink connections are up; 0 on a GPU that has none."""
    processes: tuple[GpuProcess, ...] = ()
    """None where NVML tells of none, as in most containers. Volatile: ignored by diff."""


class LostGpu(Struct, frozen=True):
    """An index that NVML counts and cannot read, with NVML's own words."""

    index: int
    error: str


class Driver(Struct, frozen=True):
    """The NVIDIA driver: kernel module, user-space libraries and what NVML answers."""

    nvml_library: Fact[str]
    """Path of the libnvidia-ml.so.1 that the loader would take."""
    version: Fact[str]
    """Driver version by NVML (``580.95.05``)."""
    cuda_version: Fact[str]
    """Newest CUDA release this driver serves (``13.0``)."""
    module_version: Fact[str]
    """Kernel module version from /proc/driver/nvidia/version."""
    open_module: Fact[bool]
    gpus: Fact[tuple[Gpu, ...]]
    libcuda: Fact[tuple[str, ...]]
    """Every libcuda.so.1 on the loader's search path, in its order, symbolic links resolved."""
    lost_gpus: tuple[LostGpu, ...] = ()
    libcuda_links: tuple[str, ...] = ()
    """The same libraries by the path under which the loader finds them, links not resolved."""
    libcuda_cached: Fact[bool] = Unknown("the loader's cache was not looked into")
    """Whether /etc/ld.so.cache lists libcuda.so.1, which is what ``ldconfig -p`` prints."""

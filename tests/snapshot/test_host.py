"""The machine: read from trees that look like /proc and /sys of several containers, and from this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from sm120kit.snapshot import host as host_module
from sm120kit.snapshot.cgroups import Limit, MemoryLimit, cpu_limit, memory_limits
from sm120kit.snapshot.container import container_kind
from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.host import read_host
from sm120kit.snapshot.loader import Loader
from sm120kit.snapshot.types.machine import Host, Mount
from tests.snapshot.targets import context, value

GIB = 1 << 30
V2 = "30 20 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1 = (
    "31 30 0:27 {top} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "32 30 0:28 {top} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)
MEMINFO = "MemTotal:       134217728 kB\nMemFree:        1 kB\nMemAvailable:   104857600 kB\n"


def lay(root: Path, files: Mapping[str, str]) -> Files:
    for path, text in files.items():
        place = root / path.strip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return Files(str(root))


class TestCgroups:
    """Limits of control groups, both versions."""

    def test_version_2_as_a_container_sees_it(self, tmp_path: Path) -> None:
        files = lay(
            tmp_path,
            {
                "/sys/fs/cgroup/cpu.max": "350000 100000\n",
                "/sys/fs/cgroup/memory.max": f"{64 * GIB}\n",
                "/sys/fs/cgroup/memory.current": f"{24 * GIB}\n",
                "/sys/fs/cgroup/memory.stat": f"anon 1\nfile 2\ninactive_file {8 * GIB}\n",
            },
        )
        assert cpu_limit(files, "0::/\n", V2) == Limit(4, "/sys/fs/cgroup/cpu.max")
        limit = MemoryLimit(64 * GIB, 48 * GIB, "/sys/fs/cgroup/memory.max")
        assert memory_limits(files, "0::/\n", V2) == (limit,)

    def test_the_tightest_group_on_the_way_up_counts(self, tmp_path: Path) -> None:
        base = "/sys/fs/cgroup"
        files = lay(
            tmp_path,
            {
                f"{base}/a/cpu.max": "200000 100000",
                f"{base}/a/b/cpu.max": "max 100000",
                f"{base}/a/memory.max": f"{GIB}",
                f"{base}/a/b/memory.max": "max",
                f"{base}/cpu.max": "800000 100000",
            },
        )
        assert cpu_limit(files, "0::/a/b\n", V2) == Limit(2, f"{base}/a/cpu.max")
        assert memory_limits(files, "0::/a/b\n", V2) == (MemoryLimit(GIB, GIB, f"{base}/a/memory.max"),)

    def test_version_1(self, tmp_path: Path) -> None:
        cpu, memory = "/sys/fs/cgroup/cpu,cpuacct/docker/x", "/sys/fs/cgroup/memory/docker/x"
        files = lay(
            tmp_path,
            {
                f"{cpu}/cpu.cfs_quota_us": "150000\n",
                f"{cpu}/cpu.cfs_period_us": "100000\n",
                f"{memory}/memory.limit_in_bytes": f"{2 * GIB}\n",
                f"{memory}/memory.usage_in_bytes": f"{GIB}\n",
                f"{memory}/memory.stat": f"inactive_file 7\ntotal_inactive_file {GIB // 2}\n",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
                "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            },
        )
        groups = "9:name=systemd:/x\n4:memory:/docker/x\n1:cpu,cpuacct:/docker/x\n0::/\n"
        mountinfo = V1.format(top="/")
        assert cpu_limit(files, groups, mountinfo) == Limit(2, f"{cpu}/cpu.cfs_quota_us")
        limit = MemoryLimit(2 * GIB, 3 * GIB // 2, f"{memory}/memory.limit_in_bytes")
        assert memory_limits(files, groups, mountinfo) == (limit,)

    @pytest.mark.parametrize("top", ["/docker/x", "/"])
    def test_version_1_inside_a_container_that_cannot_see_its_path(self, tmp_path: Path, top: str) -> None:
        files = lay(tmp_path, {"/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{GIB}"})
        found = memory_limits(files, "4:memory:/docker/x\n", V1.format(top=top))
        assert [limit.total for limit in found] == [GIB]

    @pytest.mark.parametrize(
        "text", ["", "max", "max 100000", "x y", "1", "-5 100000", "0 100000", "5 0", "٣ ٤", "9" * 50]
    )
    def test_files_that_set_no_limit(self, tmp_path: Path, text: str) -> None:
        files = lay(tmp_path, {"/sys/fs/cgroup/cpu.max": text, "/sys/fs/cgroup/memory.max": text})
        assert cpu_limit(files, "0::/", V2) is None
        assert [limit.total for limit in memory_limits(files, "0::/", V2)] == ([1] if text == "1" else [])

    @pytest.mark.parametrize("groups", ["", "\n", "0", "0::", "0::/../../..", "0::/" + "a/" * 2000, "x:y:z", "0::\x00"])
    def test_group_texts_of_another_form(self, tmp_path: Path, groups: str) -> None:
        files = lay(tmp_path, {"/sys/fs/cgroup/cpu.max": "200000 100000"})
        assert cpu_limit(files, groups, V2) in (None, Limit(2, "/sys/fs/cgroup/cpu.max"))
        assert cpu_limit(files, groups, "no mount") is None


CONTAINERS: dict[str, tuple[dict[str, str], dict[str, str], str, str, str]] = {
    "bare metal": ({"/proc/1/environ": "HOME=/\0TERM=linux\0"}, {}, "0::/user.slice\n", "", "none"),
    "docker": ({"/.dockerenv": ""}, {}, "0::/\n", "", "docker"),
    "docker, version 1": ({}, {}, "4:memory:/docker/8a7b\n", "", "docker"),
    "docker of systemd": ({}, {}, "0::/system.slice/docker-8a7b.scope\n", "", "docker"),
    "podman": ({"/run/.containerenv": ""}, {}, "0::/\n", "", "podman"),
    "podman by variable": ({}, {"container": "podman"}, "0::/\n", "", "podman"),
    "kubernetes": ({"/.dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "", "", "kubernetes"),
    "kubernetes by group": ({}, {}, "0::/kubepods.slice/kubepods-burstable.slice/x\n", "", "kubernetes"),
    "lxc with systemd": ({"/run/systemd/container": "lxc\n"}, {}, "0::/\n", "", "lxc"),
    "lxc by its first process": ({"/proc/1/environ": "TERM=linux\0container=lxc\0"}, {}, "0::/init.scope\n", "", "lxc"),
    "lxc by lxcfs": (
        {},
        {},
        "0::/\n",
        "40 22 0:40 /proc/meminfo /proc/meminfo rw,nosuid - fuse.lxcfs lxcfs rw,user_id=0\n",
        "lxc",
    ),
    "lxc by group": ({}, {}, "0::/lxc.payload.200/x\n", "", "lxc"),
    "docker inside lxc": ({"/.dockerenv": "", "/run/systemd/container": "lxc"}, {}, "", "", "docker"),
    "systemd-nspawn": ({"/run/systemd/container": "systemd-nspawn\n"}, {}, "", "", "systemd-nspawn"),
    "wsl2": ({"/proc/sys/kernel/osrelease": "5.15.167.4-microsoft-standard-WSL2\n"}, {}, "", "", "wsl2"),
    "docker inside wsl2": (
        {"/proc/sys/kernel/osrelease": "5.15.167.4-microsoft-standard-WSL2\n", "/.dockerenv": ""},
        {},
        "",
        "",
        "docker",
    ),
    "a host that runs lxcfs": ({}, {}, "0::/\n", "50 27 0:50 / /var/lib/lxcfs rw - fuse.lxcfs lxcfs rw\n", "none"),
}


@pytest.mark.parametrize(
    ("files", "variables", "groups", "mountinfo", "kind"), CONTAINERS.values(), ids=CONTAINERS.keys()
)
def test_container_kinds(
    tmp_path: Path, files: dict[str, str], variables: dict[str, str], groups: str, mountinfo: str, kind: str
) -> None:
    fact = container_kind(lay(tmp_path, files), variables, groups, mountinfo)
    assert value(fact) == kind
    assert isinstance(fact, Known)
    assert fact.source.where


def read(root: Path | None = None, mountinfo: str = "", *, files: Files | None = None) -> Host:
    made = context(root=root, environment={}, files=files)
    return read_host(made, Loader.of(made), mountinfo, (Mount("/data", "nfs4"),))


def test_this_machine() -> None:
    host = read(mountinfo=Path("/proc/self/mountinfo").read_text())
    for name in (
        "architecture",
        "kernel",
        "glibc",
        "container",
        "cpus",
        "memory_total",
        "memory_available",
        "device_nodes",
    ):
        assert isinstance(getattr(host, name), Known), getattr(host, name)
    assert value(host.kernel) == os.uname().release
    assert 1 <= value(host.cpus) <= len(os.sched_getaffinity(0))
    assert 0 < value(host.memory_available) <= value(host.memory_total)
    assert host.slow_mounts == (Mount("/data", "nfs4"),)


def test_libraries_tell_the_versions_that_they_print() -> None:
    host = read()
    program = shutil.which("ldd")
    if program:
        first = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.splitlines()[
            0
        ]
        assert first.endswith(f" {value(host.glibc)}")
    if isinstance(host.libstdcxx, Known):
        symbols = re.findall(rb"GLIBCXX_3\.4\.(\d+)\0", Path(host.libstdcxx.source.where).read_bytes())
        assert host.libstdcxx.value == f"3.4.{max(map(int, symbols))}"


def image(root: Path) -> Path:
    lib = root / "usr/lib/x86_64-linux-gnu"
    lib.mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    (root / "bin").mkdir()
    (root / "bin/sh").write_bytes(b"\x7fELF".ljust(18, b"\0") + (62).to_bytes(2, "little"))
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text('NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.3 LTS"\n')
    return lib


def test_an_image_has_libraries_and_no_hardware(tmp_path: Path) -> None:
    lib = image(tmp_path)
    (lib / "libc.so.6").write_bytes(b"\0GNU C Library (Ubuntu GLIBC 2.39-0ubuntu8.5) stable release version 2.39.\n\0")
    (lib / "libstdc++.so.6.0.33").write_bytes(b"")
    (lib / "libstdc++.so.6").symlink_to("libstdc++.so.6.0.33")
    host = read(tmp_path)
    assert value(host.architecture) == "x86_64"
    assert value(host.distribution) == "Ubuntu 24.04.3 LTS"
    assert value(host.glibc) == "2.39"
    assert value(host.libstdcxx) == "3.4.33"
    rest = {name for name in host.__struct_fields__ if isinstance(getattr(host, name), Unknown)}
    assert rest == {
        "kernel", "container", "cpus", "memory_total", "memory_available", "shm_size", "device_nodes", "pci_gpus",
    }  # fmt: skip
    assert all("an unpacked image has no" in getattr(host, name).reason for name in rest)


def test_an_older_glibc_is_known_by_its_name(tmp_path: Path) -> None:
    lib = image(tmp_path)
    (lib / "libc-2.31.so").write_bytes(b"")
    (lib / "libc.so.6").symlink_to("libc-2.31.so")
    (lib / "libstdc++.so.6").write_bytes(b"\0GLIBCXX_3.4\0GLIBCXX_3.4.9\0GLIBCXX_3.4.28\0GLIBCXX_3.4.30x\0")
    host = read(tmp_path)
    assert value(host.glibc) == "2.31"
    assert value(host.libstdcxx) == "3.4.28"


def test_an_empty_image_knows_nothing_and_says_so(tmp_path: Path) -> None:
    host = read(tmp_path)
    facts = {name: getattr(host, name) for name in host.__struct_fields__ if name not in ("slow_mounts", "pci_paths")}
    for name, fact in facts.items():
        assert isinstance(fact, Unknown), name
        assert fact.reason
    assert msgspec.json.decode(msgspec.json.encode(host), type=Host) == host


def test_device_nodes_and_pci_devices(tmp_path: Path) -> None:
    files = lay(
        tmp_path,
        {
            "/dev/nvidia0": "", "/dev/nvidiactl": "", "/dev/nvidia-uvm": "", "/dev/nvidia-caps/nvidia-cap1": "",
            "/dev/dxg": "", "/dev/null": "",
            "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
            "/sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n",
            "/sys/bus/pci/devices/0000:01:00.0/device": "0x2bb5\n",
            "/sys/bus/pci/devices/0000:01:00.1/vendor": "0x10de\n",
            "/sys/bus/pci/devices/0000:01:00.1/class": "0x040300\n",
            "/sys/bus/pci/devices/0000:02:00.0/vendor": "0x1a03\n",
            "/sys/bus/pci/devices/0000:02:00.0/class": "0x030000\n",
            "/sys/bus/pci/devices/0000:03:00.0/class": "0x030000\n",
        },
    )  # fmt: skip
    nodes = ("/dev/dxg", "/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl")
    assert value(host_module.device_nodes_of(files)) == nodes
    assert value(host_module.pci_gpus_of(files)) == ("0000:01:00.0 10de:2bb5",)


def test_a_container_limit_is_the_memory_there_is(tmp_path: Path) -> None:
    files = lay(
        tmp_path,
        {
            "/proc/meminfo": MEMINFO,
            "/sys/fs/cgroup/memory.max": f"{32 * GIB}",
            "/sys/fs/cgroup/memory.current": f"{2 * GIB}",
        },
    )
    total, available = host_module.memory_of(files, "0::/", V2)
    assert (value(total), value(available)) == (32 * GIB, 30 * GIB)
    assert isinstance(total, Known)
    assert total.source.where == "/sys/fs/cgroup/memory.max"
    total, available = host_module.memory_of(files, "", "")
    assert (value(total), value(available)) == (128 * GIB, 100 * GIB)


@pytest.mark.parametrize("text", ["", "MemTotal: lots\n", "\xff", "MemTotal: " + "9" * 99 + " kB\n"])
def test_a_meminfo_of_another_form_is_unknown(tmp_path: Path, text: str) -> None:
    total, available = host_module.memory_of(lay(tmp_path, {"/proc/meminfo": text}), "", "")
    assert isinstance(total, Unknown)
    assert isinstance(available, Unknown)

"""In which kind of container this process runs, from the marks that each kind leaves."""

from __future__ import annotations

from collections.abc import Mapping

from sm120kit.snapshot.facts import Fact, Known, Source
from sm120kit.snapshot.files import Files

_NAMES = {"oci": "docker", "lxc-libvirt": "lxc"}
_CGROUP_MARKS = (
    ("kubepods", "kubernetes"), ("/docker/", "docker"), ("/docker-", "docker"), ("libpod", "podman"),
    ("/lxc/", "lxc"), ("lxc.payload", "lxc"), ("machine.slice/systemd-nspawn", "systemd-nspawn"),
)  # fmt: skip


def container_kind(files: Files, own_environment: Mapping[str, str], groups: str, mountinfo: str) -> Fact[str]:
    """The innermost container, or ``none``.

    ``own_environment`` is this process's, ``groups`` the text of /proc/self/cgroup.
    """
    for kind, source in (
        _kubernetes(own_environment),
        _mark(files, "/.dockerenv", "docker"),
        _podman(files, own_environment),
        _said_by_systemd(files),
        _said_by_init(files),
        _cgroup(groups),
        _lxcfs(mountinfo),
        _wsl(files),
    ):
        if kind:
            return Known(kind, source)
    return Known("none", Source("system", "no mark of a container was found"))


def _kubernetes(environment: Mapping[str, str]) -> tuple[str, Source]:
    name = "KUBERNETES_SERVICE_HOST"
    return ("kubernetes" if environment.get(name) else "", Source("variable", name))


def _mark(files: Files, path: str, kind: str) -> tuple[str, Source]:
    return (kind if files.exists(path) else "", Source("file", path))


def _podman(files: Files, environment: Mapping[str, str]) -> tuple[str, Source]:
    if environment.get("container") == "podman":
        return "podman", Source("variable", "container")
    return _mark(files, "/run/.containerenv", "podman")


def _said_by_systemd(files: Files) -> tuple[str, Source]:
    path = "/run/systemd/container"
    kind = _text(files, path).strip()
    return _NAMES.get(kind, kind[:40]), Source("file", path)


def _said_by_init(files: Files) -> tuple[str, Source]:
    """``container=`` in the environment of process 1, which only root may read."""
    path = "/proc/1/environ"
    kind = next((item[10:] for item in _text(files, path).split("\0") if item.startswith("container=")), "")
    return _NAMES.get(kind, kind[:40]), Source("file", path)


def _cgroup(groups: str) -> tuple[str, Source]:
    return next((kind for mark, kind in _CGROUP_MARKS if mark in groups), ""), Source("file", "/proc/self/cgroup")


def _lxcfs(mountinfo: str) -> tuple[str, Source]:
    """lxcfs puts a container's own figures over files of /proc: the mark of LXC that everybody may read."""
    seen = any(" /proc/" in before and " fuse.lxcfs " in f" {after} " for before, after in _halves(mountinfo))
    return "lxc" if seen else "", Source("file", "/proc/self/mountinfo")


def _halves(mountinfo: str) -> list[tuple[str, str]]:
    pieces = [line.partition(" - ") for line in mountinfo.splitlines()]
    return [(before, after) for before, _, after in pieces]


def _wsl(files: Files) -> tuple[str, Source]:
    path = "/proc/sys/kernel/osrelease"
    release = _text(files, path).lower()
    return ("wsl2" if "microsoft" in release else "", Source("file", path))


def _text(files: Files, path: str) -> str:
    try:
        return files.text(path, 1 << 16)
    except OSError:
        return ""

"""Cases of container.device-nodes."""

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import host, known, snapshot
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "container.device-nodes"

_ALL = ("/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia0", "/dev/nvidiactl")


def _inside(kind: str, *nodes: str) -> Snapshot:
    return snapshot(host=host(container=known(kind), device_nodes=known(tuple(sorted(nodes)))))


CASES = [
    healthy("LXC with all nodes", _inside("lxc", *_ALL)),
    broken(
        "LXC without uvm",
        _inside("lxc", "/dev/nvidia0", "/dev/nvidiactl"),
        an_error("/dev/nvidia-uvm", "this lxc container lacks /dev/nvidia-uvm", "there: /dev/nvidia0, /dev/nvidiactl"),
    ),
    broken(
        "docker with a single --device",
        _inside("docker", "/dev/nvidia0"),
        an_error("/dev/nvidiactl and /dev/nvidia-uvm"),
    ),
    broken(
        "Kubernetes without uvm", _inside("kubernetes", "/dev/nvidia3", "/dev/nvidiactl"), an_error("/dev/nvidia-uvm")
    ),
    broken(
        "systemd-nspawn without nvidiactl",
        _inside("systemd-nspawn", "/dev/nvidia-uvm", "/dev/nvidia0"),
        an_error("/dev/nvidiactl"),
    ),
    look_alike("eight GPUs, no tools node", _inside("docker", "/dev/nvidia-uvm", "/dev/nvidiactl", "/dev/nvidia7")),
    not_applicable(
        "no container: the driver makes the node when it is needed", _inside("none", "/dev/nvidia0", "/dev/nvidiactl")
    ),
    not_applicable("WSL", _inside("wsl2", "/dev/dxg")),
    not_applicable("a container without a GPU", _inside("docker")),
    not_applicable("hardware is named", _inside("lxc", "/dev/nvidia0"), request=what_if("12.0")),
    unknown(
        "/dev cannot be listed",
        snapshot(host=host(container=known("lxc"), device_nodes=Unknown("/dev: Permission denied"))),
    ),
]

"""Cases of driver.unreachable."""

from typing import Any

from msgspec.structs import replace

from sm120kit.diagnosis.drivers import SUBJECT
from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.machine import Driver, LostGpu
from sm120kit.snapshot.types.snapshot import Snapshot, Target
from tests.builders import driver, gpu, host, host_without_gpu, known, no_driver, snapshot
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "driver.unreachable"


def _refusing(reason: str, **changes: Any) -> Driver:
    why = Unknown(reason)
    return replace(driver(**changes), version=why, cuda_version=why, gpus=why)


def _seen_by(made: Driver, **host_changes: Any) -> Snapshot:
    return snapshot(driver=made, host=host(**host_changes))


_NOT_LOADED = "NVML_ERROR_DRIVER_NOT_LOADED: Driver Not Loaded (the NVIDIA kernel module is not loaded)"
_EMPTY = driver(gpus=())
_NO_LIBRARY = replace(no_driver(), module_version=known("580.95.05"))
_CLOSED = replace(_EMPTY, open_module=known(False))
_WSL = host(container=known("wsl2"), device_nodes=known(("/dev/dxg",)), pci_gpus=known(()))

CASES = [
    healthy("one card", snapshot()),
    healthy("eight cards", snapshot(driver=driver(gpus=[gpu(index) for index in range(8)]))),
    broken(
        "LXC: device nodes without libraries",
        _seen_by(_NO_LIBRARY, container=known("lxc")),
        an_error(
            SUBJECT, "not in this LXC container", "device node /dev/nvidia0", "kernel module 580.95.05", "container lxc"
        ),
    ),
    broken(
        "docker: libraries were not added",
        _seen_by(_NO_LIBRARY, container=known("docker")),
        an_error(SUBJECT, "were not added to this container"),
    ),
    broken(
        "a bare machine with module and nodes, without libraries",
        _seen_by(_NO_LIBRARY),
        an_error(SUBJECT, "the driver's libraries are not"),
    ),
    broken(
        "a card and no driver",
        _seen_by(no_driver(), device_nodes=known(())),
        an_error(SUBJECT, "no driver is installed", "PCI device 0000:01:00.0 10de:2bb5"),
    ),
    broken(
        "the module is not loaded",
        _seen_by(_refusing(_NOT_LOADED, module_version=Unknown("no /proc/driver/nvidia/version"))),
        an_error(SUBJECT, "the kernel module is not loaded", "NVML_ERROR_DRIVER_NOT_LOADED"),
    ),
    broken(
        "LXC: the module is loaded, its nodes were not handed over",
        _seen_by(_refusing(_NOT_LOADED), container=known("lxc"), device_nodes=known(())),
        an_error(SUBJECT, "its device nodes are not here"),
    ),
    broken(
        "no permission",
        _seen_by(_refusing("NVML_ERROR_NO_PERMISSION: Insufficient Permissions")),
        an_error(SUBJECT, "may not open the device nodes"),
    ),
    broken(
        "docker: rights lost while running",
        _seen_by(_refusing("NVML_ERROR_UNKNOWN: Unknown Error"), container=known("docker")),
        an_error(SUBJECT, "lost its right to the device nodes"),
    ),
    broken(
        "NVML hangs",
        _seen_by(_refusing("NVML did not answer within 5 s (/usr/lib/libnvidia-ml.so.1): the driver hangs")),
        an_error(SUBJECT, "NVML hangs"),
    ),
    broken(
        "an error without a story", _seen_by(_refusing("NVML_ERROR_IRQ_ISSUE: IRQ")), an_error(SUBJECT, "IRQ_ISSUE")
    ),
    broken(
        "the closed module on Blackwell",
        _seen_by(_CLOSED),
        an_error(SUBJECT, "does not drive NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVML finds no GPU"),
    ),
    broken(
        "the open module starts no GPU",
        _seen_by(_EMPTY),
        an_error(SUBJECT, "the kernel module runs and has no GPU"),
    ),
    broken(
        "the closed module on a board the table does not know",
        _seen_by(_CLOSED, pci_gpus=known(("0000:01:00.0 10de:2230",))),
        an_error(SUBJECT, "the kernel module runs and has no GPU"),
    ),
    broken(
        "the control node without a GPU's node",
        _seen_by(_EMPTY, container=known("lxc"), device_nodes=known(("/dev/nvidia-uvm", "/dev/nvidiactl"))),
        an_error(SUBJECT, "no /dev/nvidia0 or other GPU node"),
    ),
    broken(
        "one of eight is lost",
        snapshot(
            driver=driver(
                gpus=[gpu(index) for index in range(7)], lost_gpus=(LostGpu(7, "NVML_ERROR_GPU_IS_LOST: GPU is lost"),)
            )
        ),
        an_error("GPU 7", "GPU is lost"),
    ),
    broken(
        "one may not be read",
        snapshot(driver=driver(lost_gpus=(LostGpu(1, "NVML_ERROR_NO_PERMISSION: Insufficient Permissions"),))),
        a_warning("GPU 1", "Insufficient Permissions"),
    ),
    look_alike("a GB10 without memory figures", snapshot(driver=driver(gpus=[gpu(name="NVIDIA GB10", cc="12.1")]))),
    look_alike(
        "the closed module on Hopper serves it",
        snapshot(driver=driver(gpus=[gpu(name="NVIDIA H100 80GB HBM3", cc="9.0")], open_module=known(False))),
    ),
    look_alike("NVML answers although no sign was seen", snapshot(host=host_without_gpu())),
    unknown("no sign of a GPU", snapshot(driver=no_driver(), host=host_without_gpu())),
    unknown("WSL's /dev/dxg is there for any GPU", snapshot(driver=no_driver(), host=_WSL)),
    unknown(
        "a version mismatch is another check's",
        _seen_by(_refusing("NVML_ERROR_LIB_RM_VERSION_MISMATCH: RM has detected an NVML/RM version mismatch.")),
    ),
    not_applicable("hardware is named", snapshot(driver=no_driver()), request=what_if("12.0")),
    not_applicable(
        "an unpacked image",
        replace(snapshot(driver=no_driver()), target=Target("root", "/", "--root", root="/tmp/image", live=False)),
    ),
]

"""Cases of driver.library-mismatch."""

from msgspec.structs import replace

from sm120kit.diagnosis.drivers import SUBJECT
from sm120kit.snapshot.facts import Unknown
from tests.builders import driver, host, known, no_driver, snapshot
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "driver.library-mismatch"

_WORDS = Unknown("NVML_ERROR_LIB_RM_VERSION_MISMATCH: RM has detected an NVML/RM version mismatch.")
_OWN = "/usr/lib/x86_64-linux-gnu"
_OTHER = driver(libcuda=known((f"{_OWN}/libcuda.so.580.82.07",)))

CASES = [
    healthy("one version", snapshot()),
    broken(
        "NVML says so",
        snapshot(driver=replace(driver(), gpus=_WORDS, version=_WORDS)),
        an_error(SUBJECT, "NVML/RM version mismatch", "kernel module 580.95.05", "libcuda.so.580.95.05"),
    ),
    broken(
        "NVML says so, nothing else is known",
        snapshot(driver=replace(no_driver(), gpus=_WORDS)),
        an_error(SUBJECT, "NVML/RM version mismatch", "kernel module unknown"),
    ),
    broken(
        "another library file",
        snapshot(driver=_OTHER),
        an_error(SUBJECT, "driver library 580.82.07", "kernel module 580.95.05", "/proc/driver/nvidia/version"),
    ),
    broken(
        "LXC with a driver of its own",
        snapshot(driver=_OTHER, host=host(container=known("lxc"))),
        an_error(SUBJECT, "580.82.07"),
    ),
    look_alike(
        "a compatibility package is meant to differ",
        snapshot(driver=driver(libcuda=known(("/usr/local/cuda-13.0/compat/libcuda.so.580.82.07",)))),
    ),
    look_alike(
        "the older file comes second on the path",
        snapshot(driver=driver(libcuda=known((f"{_OWN}/libcuda.so.580.95.05", "/opt/old/libcuda.so.570.86.15")))),
    ),
    unknown("the file does not tell", snapshot(driver=driver(libcuda=known(("/usr/lib/wsl/lib/libcuda.so.1",))))),
    unknown("no libcuda.so.1", snapshot(driver=driver(libcuda=known(())))),
    unknown(
        "no module version",
        snapshot(driver=replace(driver(), module_version=Unknown("no /proc/driver/nvidia/version"))),
    ),
    not_applicable("no driver", snapshot(driver=no_driver())),
    not_applicable("hardware is named", snapshot(driver=_OTHER), request=what_if("12.0")),
]

"""Cases of driver.compat-library."""

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.machine import Driver
from tests.builders import driver, gpu, known, no_driver, snapshot
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "driver.compat-library"

_FOLDER = "/usr/local/cuda/compat"
_LINK = f"{_FOLDER}/libcuda.so.1"
_REAL = "/usr/local/cuda-13.0/compat/libcuda.so.580.95.05"
_OWN = "/usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20"


def _compat(name: str) -> Driver:
    return driver(
        "570.133.20",
        "13.0",
        gpus=[gpu(name=name)],
        libcuda=known((_REAL, _OWN)),
        libcuda_links=(_LINK, f"{_OWN[:-11]}.1"),
    )


_GEFORCE = _compat("NVIDIA GeForce RTX 5090")

CASES = [
    healthy("the driver's own library", snapshot()),
    broken(
        "GeForce, put first by LD_LIBRARY_PATH",
        snapshot(driver=_GEFORCE, loader_dirs=(_FOLDER, "/usr/local/cuda/lib64")),
        an_error(
            _LINK, "does not cover NVIDIA GeForce RTX 5090", "error 804", "kernel module 570.133.20", "LD_LIBRARY_PATH"
        ),
    ),
    broken("GeForce, put first by ld.so.conf", snapshot(driver=_GEFORCE), an_error(_LINK)),
    broken(
        "a GeForce the table does not know",
        snapshot(driver=_compat("NVIDIA GeForce RTX 3060")),
        an_error(_LINK, "RTX 3060"),
    ),
    broken(
        "a workstation card",
        snapshot(driver=_compat("NVIDIA RTX PRO 6000 Blackwell Workstation Edition")),
        an_error(_LINK, "Workstation Edition"),
    ),
    broken(
        "only the resolved path is known",
        snapshot(driver=replace(_GEFORCE, libcuda_links=())),
        an_error(_REAL),
    ),
    look_alike("a data-centre card is covered", snapshot(driver=_compat("NVIDIA B200"))),
    look_alike(
        "the compat folder comes after the driver's own",
        snapshot(driver=replace(_GEFORCE, libcuda=known((_OWN, _REAL)), libcuda_links=())),
    ),
    look_alike(
        "a folder whose name only resembles",
        snapshot(driver=replace(_GEFORCE, libcuda=known(("/opt/compatible/libcuda.so.580.95.05",)), libcuda_links=())),
    ),
    unknown("a server card of the RTX line", snapshot(driver=_compat("NVIDIA RTX PRO 6000 Blackwell Server Edition"))),
    unknown("a card the table does not know", snapshot(driver=_compat("NVIDIA RTX A6000"))),
    unknown("GPUs not known", snapshot(driver=replace(_GEFORCE, gpus=Unknown("NVML did not answer")))),
    not_applicable("no libcuda.so.1", snapshot(driver=no_driver())),
    not_applicable("hardware is named", snapshot(driver=_GEFORCE), request=what_if("12.0")),
]

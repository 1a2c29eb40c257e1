"""Cases of driver.too-old."""

from msgspec.structs import replace

from sm120kit.diagnosis.case import NamedGpu, Request
from sm120kit.diagnosis.drivers import SUBJECT
from sm120kit.snapshot.facts import Unknown
from tests.builders import (
    driver,
    named,
    no_driver,
    sglang,
    snapshot,
    toolkit,
    torch_build,
    torch_extensions,
)
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "driver.too-old"

SYSTEM = "/usr/local/cuda-13.0"

_CU128 = torch_build("2.10.0+cu128", "12.8")
_R570 = driver("570.133.20", "12.8")
_SYSTEM = toolkit(SYSTEM, layout="system")
_RTX_5090 = (NamedGpu("rtx-5090", "12.0"),)

CASES = [
    healthy("580 for CUDA 13.0", snapshot()),
    healthy("570 for a torch of CUDA 12.8", snapshot(driver=_R570, torch=_CU128)),
    broken(
        "570 for a torch of CUDA 13.0",
        snapshot(driver=_R570),
        an_error(SUBJECT, "570.133.20 is too old for torch 2.14.1+cu130 (CUDA 13.0)", "580 or newer is needed"),
    ),
    broken(
        "570 for a toolkit of CUDA 13.0 beside a torch of 12.8",
        snapshot(driver=_R570, torch=_CU128, toolkits=(_SYSTEM,), consumers=(sglang(home=SYSTEM),)),
        an_error(SUBJECT, f"too old for {SYSTEM} (CUDA 13.0)", "nvcc 13.0"),
    ),
    broken(
        "such a toolkit for those who build extensions",
        snapshot(driver=_R570, torch=_CU128, toolkits=(_SYSTEM,), consumers=(torch_extensions(home=SYSTEM),)),
        a_warning(SUBJECT, SYSTEM),
    ),
    broken(
        "NVML is silent, the kernel module is of 535",
        snapshot(driver=replace(driver("535.183.06", "12.2"), version=Unknown("x"), cuda_version=Unknown("x"))),
        an_error(SUBJECT, "535.183.06"),
    ),
    broken("named by --driver", snapshot(), an_error(SUBJECT, "575.57.08"), request=what_if("12.0", "575.57.08")),
    broken(
        "a Blackwell board under 565",
        snapshot(torch=torch_build("2.7.1+cu126", "12.6")),
        an_error(SUBJECT, "too old for NVIDIA GeForce RTX 5090", "570 or newer"),
        request=Request(_RTX_5090, "565.77"),
    ),
    look_alike(
        "13.2's torch on 580: minor releases run on the same driver",
        snapshot(torch=torch_build("2.14.1+cu132", "13.2")),
    ),
    look_alike(
        "CUDA 12.8 on 535: minor version compatibility", snapshot(driver=driver("535.183.06", "12.2"), torch=_CU128)
    ),
    look_alike(
        "570 with a compatibility package: NVML says that it serves 13.0",
        snapshot(driver=driver("570.133.20", "13.0")),
    ),
    look_alike("610 is newer than 580", snapshot(driver=driver("610.57.04", "13.3"))),
    look_alike("a toolkit of CUDA 13 that nobody takes", snapshot(driver=_R570, torch=_CU128, toolkits=(_SYSTEM,))),
    unknown("no driver to ask", snapshot(driver=no_driver())),
    unknown("no version", snapshot(), request=what_if("12.0", "newest")),
    not_applicable("hardware named, no driver named", snapshot(driver=_R570), request=what_if("12.0")),
    not_applicable(
        "a torch without CUDA and no toolkit", snapshot(driver=_R570, torch=torch_build("2.13.0+cpu", ""), toolkits=())
    ),
    healthy("a toolkit named, and a driver for it", named()),
]

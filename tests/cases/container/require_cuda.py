"""Cases of container.require-cuda."""

from typing import Any

from msgspec.structs import replace

from sm120kit.diagnosis.case import NamedGpu, Request
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import no_driver, snapshot
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "container.require-cuda"

_BRANDS = ("unknown", "grid", "tesla", "nvidia", "quadro", "quadrortx", "nvidiartx", "vapps", "vpc", "vcs", "vws")
_OF_NVIDIA = "cuda>=13.0 " + " ".join(
    f"brand={brand},driver>={branch},driver<{branch + 1}" for branch in (535, 550, 570) for brand in _BRANDS
)
"""As images on nvidia/cuda have it: forward compatibility for all but GeForce."""


def _image(require: str = _OF_NVIDIA, **variables: str) -> Snapshot:
    taken = snapshot(
        driver=no_driver(), environment={"NVIDIA_REQUIRE_CUDA": require, **variables} if require else variables
    )
    return replace(taken, target=replace(taken.target, kind="root", root="/img", live=False))


def _on(driver: str, gpu: str = "rtx-5090", capability: str = "12.0") -> dict[str, Any]:
    return {"request": Request((NamedGpu(gpu, capability),), driver)}


CASES = [
    healthy("580 for CUDA 13.0", _image(), **_on("580.95.05")),
    healthy("580 named as a branch", _image(), **_on("580")),
    healthy("a branch newer than all known", _image(), **_on("700.10")),
    healthy("570 with forward compatibility for a workstation", _image(), **_on("570.133.20", "rtx-pro-6000")),
    healthy("570 with forward compatibility for a data centre", _image(), **_on("570.133.20", "b200", "10.0")),
    broken(
        "570 with a GeForce",
        _image(),
        an_error(
            "NVIDIA_REQUIRE_CUDA",
            "demands cuda>=13.0, and driver 570.133.20, which serves CUDA 12.8 does not meet it",
            "NVIDIA_REQUIRE_CUDA=cuda>=13.0 brand=unknown",
        ),
        **_on("570.133.20"),
    ),
    broken(
        "a release of the base image that nothing inside needs",
        _image("cuda>=13.2"),
        an_error("NVIDIA_REQUIRE_CUDA", "cuda>=13.2", "driver 580.95.05, which serves CUDA 13.0"),
        **_on("580.95.05"),
    ),
    broken(
        "an image of the old kind",
        _image("", CUDA_VERSION="13.1.0"),
        an_error("CUDA_VERSION", "cuda>=13.1"),
        **_on("580.95.05"),
    ),
    broken(
        "another variable, and another GPU than it was made for",
        _image("", NVIDIA_REQUIRE_ARCH="arch>=9.0,arch<10.0"),
        an_error("NVIDIA_REQUIRE_ARCH", "arch>=9.0,arch<10.0"),
        **_on("580.95.05"),
    ),
    broken(
        "one of two kinds of GPU",
        _image(),
        an_error("NVIDIA_REQUIRE_CUDA"),
        request=Request((NamedGpu("rtx-pro-6000", "12.0"), NamedGpu("rtx-5090", "12.0")), "570.133.20"),
    ),
    broken(
        "a condition that nobody can read",
        _image("cuda>13,speed>9000"),
        an_error("NVIDIA_REQUIRE_CUDA", "'speed>9000', which nvidia-container-cli cannot read"),
        **_on("580.95.05"),
    ),
    broken("a version that is none", _image("cuda>=latest"), an_error("NVIDIA_REQUIRE_CUDA"), **_on("580.95.05")),
    look_alike("an empty alternative and a trailing comma", _image("  cuda>=12.8, "), **_on("580.95.05")),
    look_alike("Jetson's variable beside it", _image("cuda>=12.0", NVIDIA_REQUIRE_JETPACK="csv"), **_on("580.95.05")),
    not_applicable("the image turns it off", _image(NVIDIA_DISABLE_REQUIRE="true"), **_on("550.40.07")),
    not_applicable("no such variable", _image("", NVIDIA_VISIBLE_DEVICES="all"), **_on("550.40.07")),
    not_applicable("it runs already", snapshot(environment={"NVIDIA_REQUIRE_CUDA": "cuda>=99"})),
    unknown("no driver was named", _image()),
    unknown("a driver older than all known", _image("cuda>=12.0"), **_on("450.10")),
    unknown("a release of the branch that was named", _image("driver>=580.95"), **_on("580")),
    unknown("more than the newest known branch serves", _image("cuda>=14.0"), **_on("700.10")),
    unknown("a GPU of which only the compute capability is named", _image(), **_on("570.10", "12.0")),
    unknown("no GPU was named", _image(), request=Request((), "570.133.20")),
]

"""Cases of torch.arch-missing."""

from typing import Any

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import distribution, driver, gpu, host, known, no_driver, snapshot, torch_build
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "torch.arch-missing"

_ARM = host(architecture=known("aarch64"))


def _torch(version: str, cuda: str, cc: str = "12.0", **changes: Any) -> Snapshot:
    return snapshot(torch=torch_build(version, cuda), driver=driver(gpus=[gpu(cc=cc)]), **changes)


CASES = [
    healthy("2.14.1 for CUDA 13.0 on 12.0", snapshot()),
    healthy("2.7.1+cu128 on 12.0", _torch("2.7.1+cu128", "12.8")),
    healthy("2.11.0 for aarch64 on a GB10", _torch("2.11.0+cu130", "13.0", "12.1", host=_ARM)),
    healthy("2.10.0 on a B300: code for 10.0 runs on 10.3", _torch("2.10.0+cu128", "12.8", "10.3")),
    broken(
        "2.7.1 from PyPI is built with CUDA 12.6",
        _torch("2.7.1+cu126", "12.6"),
        an_error(
            "torch 2.7.1+cu126", "no code for compute capability 12.0", "CUDA 12.6", "90a", "nvmlDeviceGetHandleByIndex"
        ),
    ),
    broken("a version without local tag", _torch("2.7.1", "12.6"), an_error("torch 2.7.1")),
    broken("2.5.1+cu124 is older than Blackwell", _torch("2.5.1+cu124", "12.4"), an_error("torch 2.5.1+cu124")),
    broken("2.14.1+cu126 is for old cards", _torch("2.14.1+cu126", "12.6"), an_error("torch 2.14.1+cu126")),
    broken(
        "B200 named",
        _torch("2.7.1+cu126", "12.6"),
        an_error("torch 2.7.1+cu126", "10.0", "--gpu"),
        request=what_if("10.0"),
    ),
    broken(
        "Thor under a torch for 12.8",
        _torch("2.11.0+cu128", "12.8", "11.0", host=_ARM),
        an_error("torch 2.11.0+cu128", "11.0"),
    ),
    broken("V100: dropped from 2.11 on", _torch("2.11.0+cu128", "12.8", "7.0"), an_error("torch 2.11.0+cu128", "7.0")),
    broken(
        "a B200 beside an H100, and a torch for the latter",
        snapshot(torch=torch_build("2.9.1+cu126", "12.6"), driver=driver(gpus=[gpu(0, cc="9.0"), gpu(1, cc="10.0")])),
        an_error("torch 2.9.1+cu126", "compute capability 10.0"),
    ),
    look_alike("2.9.1 on 12.1: code for 12.0 runs there", _torch("2.9.1+cu128", "12.8", "12.1")),
    look_alike("2.7.1+cu126 on Hopper", _torch("2.7.1+cu126", "12.6", "9.0")),
    look_alike("8.9 runs code for 8.6", _torch("2.14.1+cu130", "13.0", "8.9")),
    unknown("NVIDIA's own build", _torch("2.9.0a0+145a3a7bda.nv25.10", "13.0")),
    unknown("a build from source with CUDA 12.6", _torch("2.7.0a0+git1341794", "12.6")),
    unknown("a series the table does not know", _torch("2.19.0+cu135", "13.5")),
    unknown("aarch64 before 2.11", _torch("2.9.1+cu130", "13.0", "12.1", host=_ARM)),
    unknown("no GPU known", snapshot(driver=no_driver())),
    unknown(
        "torch/version.py cannot be read",
        snapshot(torch=Unknown("permission denied"), distributions=known((distribution("torch", "2.14.1"),))),
    ),
    not_applicable("no torch", snapshot(torch=Unknown("not installed"), distributions=known(()))),
    not_applicable("a build without CUDA", _torch("2.13.0+cpu", "")),
]

"""Cases of torch.cpu-only."""

from sm120kit.snapshot.facts import Unknown
from tests.builders import distribution, host, host_without_gpu, known, no_driver, snapshot, torch_build
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "torch.cpu-only"

_CPU = torch_build("2.13.0+cpu", "")

CASES = [
    healthy("a torch for CUDA 13.0", snapshot()),
    broken(
        "a CPU build beside a GPU",
        snapshot(torch=_CPU),
        an_error("torch 2.13.0+cpu", "a build for the CPU alone", "is there", "RTX PRO 6000", "torch/version.py"),
    ),
    broken(
        "a CPU build, and a GPU named",
        snapshot(torch=_CPU, driver=no_driver(), host=host_without_gpu()),
        an_error("torch 2.13.0+cpu", "an NVIDIA GPU is named", "--gpu"),
        request=what_if("12.1"),
    ),
    broken(
        "a CPU build, and a GPU whose driver does not answer",
        snapshot(torch=_CPU, driver=no_driver()),
        an_error("torch 2.13.0+cpu", "PCI device 0000:01:00.0 10de:2bb5"),
    ),
    broken(
        "PyPI's 2.9.1 for aarch64",
        snapshot(torch=torch_build("2.9.1+cpu", ""), host=host(architecture=known("aarch64"))),
        an_error("torch 2.9.1+cpu"),
    ),
    broken(
        "a build for AMD GPUs", snapshot(torch=torch_build("2.9.1+rocm6.4", "")), an_error("torch 2.9.1+rocm6.4", "AMD")
    ),
    look_alike("a CPU build where no GPU is", snapshot(torch=_CPU, driver=no_driver(), host=host_without_gpu())),
    look_alike(
        "WSL's /dev/dxg is no sign of an NVIDIA GPU",
        snapshot(torch=_CPU, driver=no_driver(), host=host(device_nodes=known(("/dev/dxg",)), pci_gpus=known(()))),
    ),
    unknown(
        "torch/version.py cannot be read",
        snapshot(torch=Unknown("permission denied"), distributions=known((distribution("torch", "2.14.1"),))),
    ),
    not_applicable("no torch", snapshot(torch=Unknown("not installed"), distributions=known(()))),
]

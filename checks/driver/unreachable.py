"""A GPU is there and the driver does not answer: no library, no kernel module, no permission, or no usable GPU

## What it finds
A machine or container with signs of an NVIDIA GPU in which NVML gives no usable GPU; and single GPUs that NVML counts
and cannot read.

## Why it matters
CUDA needs the same parts as NVML: the kernel module, its device nodes, and user-space libraries of the same version.
Servers report the lack of any of them only as "no CUDA GPUs are available".

## How it is found
Signs of a GPU are PCI devices of vendor 10de, /dev/nvidia* and /proc/driver/nvidia. Without one the check says that
it cannot tell: a build machine needs no driver. NVML is asked in a child process with a limit. Which part is lacking
follows from what is there: libraries, kernel module, device nodes, NVML's own error, the kind of container. It does
not apply where hardware is named by `--gpu`, nor to an unpacked image.

## Remedy
In a container, start it with the GPUs (`docker run --gpus all`, which needs nvidia-container-toolkit on the host);
see that CUDA_VISIBLE_DEVICES hides none; on a host, install the driver or load its module. The doctor names the part
that is lacking, for the kind of container it is in.

## Sources
- NVIDIA/open-gpu-kernel-modules#872: closed modules drive no Blackwell GPU ("No devices were found"); #862: BAR space
- NVIDIA/nvidia-container-toolkit#290, NVIDIA/nvidia-docker#1546: LXC; NVIDIA/nvidia-container-toolkit#251: GPUs that
  vanish from a running container
- nvml.h: nvmlReturn_t
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Known,
    LogRemedy,
    Manual,
    Remedy,
    Signature,
    Unknown,
    at,
    check,
    error,
    fact_evidence,
    warning,
)
from sm120kit.diagnosis.drivers import SUBJECT, VERSION_MISMATCH, nvml_error, require_own_machine
from sm120kit.diagnosis.gpus import models_by_pci

_LOOK = (
    LogRemedy(
        "In a container: start it with the GPUs; the host needs the package nvidia-container-toolkit for that",
        ("docker run --gpus all IMAGE",),
    ),
    LogRemedy(
        "See what the driver shows, and that CUDA_VISIBLE_DEVICES is not empty and names no GPU that is not there",
        ("nvidia-smi -L", "printenv CUDA_VISIBLE_DEVICES"),
    ),
    LogRemedy("Let the doctor say which part is lacking", ("sm120kit doctor --only 'driver.*' --only 'container.*'",)),
)

SIGNATURES = [
    Signature(
        pattern=r"Failed to initialize NVML: (?!Driver/library version mismatch)\w|^No devices were found"
        r"|RuntimeError: No CUDA GPUs are available|Found no NVIDIA driver on your system",
        rank="cause",
        example="RuntimeError: No CUDA GPUs are available",
        look_alike="Failed to initialize NVML: Driver/library version mismatch",
        source="torch/cuda/__init__.py; NVIDIA/nvidia-container-toolkit#251; NVIDIA/open-gpu-kernel-modules#872",
        message="CUDA found no GPU: none was handed to this container, CUDA_VISIBLE_DEVICES hides them, or the "
        "driver does "
        "not answer",
        remedies=_LOOK,
    ),
    Signature(
        pattern=r"^(?:(?:- )?(?:\w+\.)*(?:ImportError|OSError|RuntimeError): |nvidia-container-cli: |docker: ).*\b"
        r"(?P<library>lib(?:cuda|nvidia-ml)\.so\.1): cannot open shared object file",
        rank="cause",
        example="ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
        look_alike="WARNING: kernels of another device are left out (libcuda.so.1: cannot open shared object file)",
        source="sgl-project/sglang#4778; xorbitsai/inference#2865",
        message="{library}, a library of the driver, is not here: the container was started without the GPUs, or no "
        "driver is installed",
        remedies=_LOOK,
    ),
]

_CONTAINERS = ("docker", "podman", "kubernetes")


@check("driver.unreachable")
def unreachable(case: Case) -> Iterator[Finding | CannotTell]:
    require_own_machine(case)
    driver = case.snapshot.driver
    for lost in driver.lost_gpus:
        say = error if "LOST" in lost.error.upper() else warning
        yield say(
            f"GPU {lost.index}",
            f"NVML counts GPU {lost.index} and cannot read it: {lost.error}",
            [at(lost.error, "nvmlDeviceGetHandleByIndex")],
            [_read_kernel_log("Look for Xid and NVRM lines; a lost GPU comes back with a reset or a reboot")],
        )
    if driver.lost_gpus or (isinstance(driver.gpus, Known) and driver.gpus.value):
        return
    signs = [sign for sign in case.gpu_signs if not sign.endswith("/dev/dxg")]
    why = driver.gpus.reason if isinstance(driver.gpus, Unknown) else "NVML finds no GPU"
    if not signs:
        yield CannotTell(SUBJECT, f"no sign of an NVIDIA GPU here: {why}")
    elif nvml_error(case) == VERSION_MISMATCH:
        yield CannotTell(SUBJECT, f"NVML refuses to answer, see driver.library-mismatch: {why}")
    else:
        cause, remedies = _cause(case)
        yield error(
            SUBJECT, f"a GPU is there and the driver does not answer: {cause}", _evidence(case, signs, why), remedies
        )


def _evidence(case: Case, signs: list[str], why: str) -> list[Evidence]:
    driver, host = case.snapshot.driver, case.snapshot.host
    where = driver.nvml_library.value if isinstance(driver.nvml_library, Known) else "loader's search path"
    evidence = [at(why, where), *(at(sign) for sign in signs)]
    if isinstance(host.container, Known) and host.container.value != "none":
        evidence.append(fact_evidence("container", host.container))
    return evidence


def _cause(case: Case) -> tuple[str, list[Remedy]]:
    driver = case.snapshot.driver
    if isinstance(driver.nvml_library, Unknown):
        return _no_library(case)
    if isinstance(driver.gpus, Known):
        return _no_devices(case)
    name = nvml_error(case)
    if name == "NVML_ERROR_DRIVER_NOT_LOADED":
        return _not_loaded(case)
    if name == "NVML_ERROR_NO_PERMISSION":
        return "this user may not open the device nodes", [_give_nodes(case)]
    if name == "NVML_ERROR_UNKNOWN" and _container(case) in _CONTAINERS:
        text = "Start the container anew; to keep this from happening again, name the devices (CDI or --device)"
        return "the container lost its right to the device nodes, as after a systemctl daemon-reload", [Manual(text)]
    if "did not answer" in driver.gpus.reason:
        return "NVML hangs", [_read_kernel_log("Look for Xid and NVRM lines of a GPU that hangs; then reset or reboot")]
    return driver.gpus.reason, [_read_kernel_log("See what the kernel module says")]


def _no_library(case: Case) -> tuple[str, list[Remedy]]:
    kind, driver = _container(case), case.snapshot.driver
    if kind == "wsl2":
        text = "Put WSL's driver libraries on the loader's path; where they are missing, update WSL and Windows' driver"
        return "libnvidia-ml.so.1 is not on the loader's path", [Manual(text, ("ls /usr/lib/wsl/lib", "ldconfig -p"))]
    if isinstance(driver.module_version, Unknown) and not _nodes(case):
        return "no driver is installed: neither kernel module, device nodes nor libraries are here", [_install(case)]
    version = driver.module_version.value if isinstance(driver.module_version, Known) else "the kernel module's version"
    if kind in _CONTAINERS:
        text = (
            "Start the container through the NVIDIA container toolkit, with the capabilities compute and utility: it "
            "adds the libraries. libnvidia-ml.so.1 comes with utility"
        )
        command = "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE"
        return "the driver's libraries were not added to this container", [Manual(text, (command,))]
    if kind == "lxc":
        text = (
            f"Install the driver's user-space libraries in the container, in exactly version {version} and without a "
            "kernel module, or mount them from the host"
        )
        command = f"sh NVIDIA-Linux-x86_64-{version}.run --no-kernel-modules"
        return "the driver's libraries are not in this LXC container", [Manual(text, (command,))]
    text = f"Install the driver's user-space libraries in version {version}"
    return "the kernel module is here, the driver's libraries are not", [Manual(text)]


def _not_loaded(case: Case) -> tuple[str, list[Remedy]]:
    module = case.snapshot.driver.module_version
    if isinstance(module, Known) and not _nodes(case):
        return "the kernel module is loaded, and its device nodes are not here", [_give_nodes(case)]
    if _container(case) == "none":
        text = "Load the module; where that fails, the kernel's log says why (not built for this kernel, Secure Boot)"
        return "the kernel module is not loaded", [Manual(text, ("modprobe nvidia", "dmesg | grep -iE 'nvrm|nvidia'"))]
    return "the kernel module is not loaded on the host, or its device nodes are not here", [_give_nodes(case)]


def _no_devices(case: Case) -> tuple[str, list[Remedy]]:
    driver, host = case.snapshot.driver, case.snapshot.host
    blackwell = models_by_pci(host.pci_gpus.value if isinstance(host.pci_gpus, Known) else ())
    if isinstance(driver.open_module, Known) and not driver.open_module.value and blackwell:
        text = "Replace the closed kernel module by the open one of the same driver version"
        cause = f"the kernel module is the closed one, which does not drive {blackwell[0].product}"
        return cause, [Manual(text, ("apt-get install nvidia-open", "cat /proc/driver/nvidia/version"))]
    if _nodes(case) and not any(node.removeprefix("/dev/nvidia").isdecimal() for node in _nodes(case)):
        return "no /dev/nvidia0 or other GPU node is here", [_give_nodes(case)]
    text = (
        "See why the module could not start the GPU: RmInitAdapter failures point at PCI space (Above 4G Decoding and"
    )
    return "the kernel module runs and has no GPU", [_read_kernel_log(f"{text} Resizable BAR in the firmware setup)")]


def _give_nodes(case: Case) -> Manual:
    kind = _container(case)
    if kind == "lxc":
        return Manual(
            "Hand the device nodes to the LXC container: on the host, allow their majors (see /proc/devices) and mount "
            "them in its configuration",
            (
                "lxc.cgroup2.devices.allow = c 195:* rwm",
                "lxc.mount.entry = /dev/nvidiactl dev/nvidiactl none bind,optional,create=file",
                "lxc.mount.entry = /dev/nvidia0 dev/nvidia0 none bind,optional,create=file",
                "lxc.mount.entry = /dev/nvidia-uvm dev/nvidia-uvm none bind,optional,create=file",
            ),
        )
    if kind in _CONTAINERS:
        return Manual("Start the container with the GPUs", ("docker run --gpus all IMAGE",))
    return Manual("Make the device nodes and see who may open them", ("nvidia-modprobe -u -c=0", "ls -l /dev/nvidia*"))


def _install(case: Case) -> Manual:
    if _container(case) in ("none", "wsl2"):
        return Manual("Install the NVIDIA driver, with the open kernel module", ("apt-get install nvidia-open",))
    return Manual("Install the NVIDIA driver on the host and hand its GPUs to this container")


def _read_kernel_log(text: str) -> Manual:
    return Manual(text, ("dmesg | grep -iE 'nvrm|xid'",))


def _nodes(case: Case) -> list[str]:
    nodes = case.snapshot.host.device_nodes
    return [node for node in nodes.value if node != "/dev/dxg"] if isinstance(nodes, Known) else []


def _container(case: Case) -> str:
    kind = case.snapshot.host.container
    return kind.value if isinstance(kind, Known) else "none"

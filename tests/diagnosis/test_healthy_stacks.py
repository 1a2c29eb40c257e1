"""Stacks that work: no check of the catalogue may call an error, nor a warning that is not due."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sm120kit.diagnosis.case import Case, Request
from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.hardware import parse_gpus
from sm120kit.diagnosis.run import run_checks
from sm120kit.diagnosis.types import Finding, Outcome, Severity
from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.snapshot import Snapshot, Target
from sm120kit.snapshot.types.toolkits import GlibcGuards, Nvcc, Toolkit
from tests.builders import (
    CU13,
    distribution,
    driver,
    flashinfer,
    gcc,
    gpu,
    host,
    host_without_gpu,
    known,
    named,
    no_driver,
    probe,
    sglang,
    snapshot,
    toolkit,
    torch_build,
    torch_extensions,
)
from tests.diagnosis.pin_sets import DUE_WARNINGS, SERVERS

CHECKS = tuple(read_catalogue().checks.values())

SYSTEM = "/usr/local/cuda-13.0"
SYSTEM_128 = "/usr/local/cuda-12.8"
SYSTEM_132 = "/usr/local/cuda-13.2"

COMPILER_PARTS = (
    "nvcc",
    "nvcc.profile",
    "cicc",
    "ptxas",
    "fatbinary",
    "cudafe++",
    "nvlink",
    "libdevice",
    "crt",
    "cccl",
)

RUNTIME = toolkit(drop=COMPILER_PARTS, link_names=(), cccl_copies=(), headers=("cublas_v2.h", "cublasLt.h", "curand.h"))
"""The CUDA wheels that torch brings: runtime libraries and headers, no compiler."""

OLD_GUARDS = known(GlibcGuards(sinpi_cospi=False, rsqrt=False))
WRAPPER = Nvcc("/usr/local/bin/nvcc", "/usr/local/bin/nvcc", "script", f"{SYSTEM}/bin/nvcc")


def system_toolkit(home: str, release: str, **changes: Any) -> Toolkit:
    """A toolkit as NVIDIA's own packages lay it, with the other name that they give it."""
    aliases = {"aliases": ("/usr/local/cuda",), "found_via": ("/usr/local",), **changes}
    return toolkit(home, release, layout="system", **aliases)


def wheels(**versions: str) -> Any:
    """Installed distributions: ``flashinfer_python="0.7.2.post1"``."""
    return known(tuple(distribution(name.replace("_", "-"), version) for name, version in sorted(versions.items())))


def unused(home: str, release: str) -> Toolkit:
    """A toolkit in which much is missing, and which nobody takes."""
    return toolkit(home, release, layout="system", drop=("cicc", "libdevice"), cccl=None, link_names=(), headers=())


CU128 = system_toolkit(SYSTEM_128, "12.8", cccl="2.7.0", gcc=14, clang=19, glibc_guards=OLD_GUARDS)
SBSA = system_toolkit(
    SYSTEM,
    "13.0",
    include_dirs=(f"{SYSTEM}/targets/sbsa-linux/include", f"{SYSTEM}/targets/sbsa-linux/include/cccl"),
    library_dirs=(f"{SYSTEM}/targets/sbsa-linux/lib/stubs", f"{SYSTEM}/targets/sbsa-linux/lib"),
)
SPARK = replace(
    gpu(name="NVIDIA GB10", cc="12.1"),
    memory_total=Unknown("NVML gives no memory figure for this GPU: NVML_ERROR_NOT_SUPPORTED"),
    memory_free=Unknown("NVML gives no memory figure for this GPU: NVML_ERROR_NOT_SUPPORTED"),
)

STACKS: dict[str, Snapshot] = {
    "torch alone": snapshot(toolkits=(RUNTIME,), consumers=(torch_extensions(home=None),), link_probes=()),
    "a whole toolkit of wheels, taken by everything": snapshot(
        consumers=(flashinfer(), sglang(), torch_extensions()),
        distributions=wheels(torch="2.14.1", flashinfer_python="0.7.2.post1", sglang="0.5.23", sglang_kernel="0.4.10"),
    ),
    "a whole toolkit named": named(),
    "system 12.8 beside a torch for 12.8": snapshot(
        driver=driver("570.133.20", "12.8"),
        torch=torch_build("2.10.0+cu128", "12.8"),
        distributions=wheels(torch="2.10.0", flashinfer_python="0.7.2.post1"),
        toolkits=(CU128,),
        consumers=(flashinfer(home=SYSTEM_128), torch_extensions("2.10.0", SYSTEM_128)),
        link_probes=(probe(SYSTEM_128),),
        nvcc_on_path=(Nvcc(f"{SYSTEM_128}/bin/nvcc", f"{SYSTEM_128}/bin/nvcc", "binary"),),
        environment={"CUDA_HOME": SYSTEM_128, "PATH": f"{SYSTEM_128}/bin:/usr/bin"},
    ),
    "system 13.2 beside torch's runtime 13.0": snapshot(
        toolkits=(system_toolkit(SYSTEM_132, "13.2", cccl="3.2.0"), RUNTIME),
        distributions=wheels(torch="2.14.1", flashinfer_python="0.7.2.post1", sglang="0.5.23", sglang_kernel="0.4.10"),
        consumers=(flashinfer(home=SYSTEM_132), sglang(home=SYSTEM_132), torch_extensions(home=SYSTEM_132)),
        link_probes=(probe(SYSTEM_132), probe(CU13, ("cudart", "cuda"))),
        environment={"CUDA_HOME": SYSTEM_132},
    ),
    "a runtime container without driver": snapshot(
        host=host_without_gpu(container=known("docker")),
        driver=no_driver(),
        toolkits=(system_toolkit(SYSTEM, "13.0", drop=COMPILER_PARTS, cccl_copies=(), link_names=()), RUNTIME),
        consumers=(torch_extensions(home=None),),
        link_probes=(),
        host_compilers=(),
    ),
    "a DGX Spark": snapshot(
        host=host(architecture=known("aarch64"), pci_gpus=known(("000f:01:00.0 10de:2e12",))),
        driver=driver("580.142", "13.0", gpus=(SPARK,)),
        torch=torch_build("2.14.1+cu130", "13.0"),
        distributions=wheels(torch="2.14.1", flashinfer_python="0.7.2.post1", sglang="0.5.23", sglang_kernel="0.4.10"),
        toolkits=(SBSA,),
        consumers=(flashinfer(home=SYSTEM), sglang(home=SYSTEM), torch_extensions(home=SYSTEM)),
        link_probes=(probe(SYSTEM),),
    ),
    "two toolkits on disk, one of them old and in pieces": snapshot(
        toolkits=(toolkit(), unused("/usr/local/cuda-12.4", "12.4")),
        consumers=(flashinfer(), sglang()),
        link_probes=(probe(), probe("/usr/local/cuda-12.4", ("cudart", "cuda"))),
    ),
    "a wrapper in /usr/local/bin, CUDA_HOME names the toolkit it starts": snapshot(
        toolkits=(system_toolkit(SYSTEM, "13.0"),),
        consumers=(flashinfer(home=SYSTEM), sglang(home=SYSTEM), torch_extensions(home=SYSTEM)),
        link_probes=(probe(SYSTEM),),
        nvcc_on_path=(WRAPPER,),
        environment={"CUDA_HOME": SYSTEM, "PATH": "/usr/local/bin:/usr/bin"},
    ),
    "a wrapper in /usr/local/bin and no consumer": snapshot(
        host=host_without_gpu(),
        driver=no_driver(),
        torch=Unknown("torch is not installed"),
        distributions=known(()),
        toolkits=(system_toolkit(SYSTEM, "13.0", aliases=(), headers=()),),
        link_probes=(probe(SYSTEM, ("cuda",)),),
        nvcc_on_path=(WRAPPER,),
        environment={"PATH": "/usr/local/bin:/usr/bin"},
    ),
    "eight RTX PRO 6000 in an LXC container": snapshot(
        host=host(container=known("lxc"), pci_gpus=known(tuple(f"0000:{n:02x}:00.0 10de:2bb5" for n in range(8)))),
        driver=driver(gpus=tuple(gpu(index) for index in range(8))),
        consumers=(flashinfer(), sglang()),
    ),
    "WSL 2": snapshot(
        host=host(container=known("wsl2"), device_nodes=known(("/dev/dxg",)), pci_gpus=known(())),
        driver=driver(
            "581.80",
            gpus=(gpu(name="NVIDIA GeForce RTX 5090"),),
            libcuda=known(("/usr/lib/wsl/lib/libcuda.so.1",)),
            libcuda_links=("/usr/lib/wsl/lib/libcuda.so.1",),
            module_version=Unknown("/proc/driver/nvidia/version: No such file or directory"),
            open_module=Unknown("/proc/driver/nvidia/version: No such file or directory"),
        ),
        consumers=(flashinfer(), sglang()),
    ),
    "a torch for the CPU on a machine without GPU": snapshot(
        host=host_without_gpu(),
        driver=no_driver(),
        torch=torch_build("2.13.0+cpu", ""),
        distributions=wheels(torch="2.13.0"),
        toolkits=(),
        consumers=(torch_extensions(home=None),),
        link_probes=(),
    ),
    "nothing installed": snapshot(
        host=host_without_gpu(),
        driver=no_driver(),
        torch=Unknown("torch is not installed"),
        distributions=known(()),
        toolkits=(),
        link_probes=(),
        host_compilers=(),
    ),
    "a newer gcc beside the one that nvcc calls": snapshot(
        consumers=(sglang(),), host_compilers=(gcc("13.3.0", "gcc"), gcc("16.1.0", "gcc-16"))
    ),
}

JIT_CACHE = snapshot(
    toolkits=(RUNTIME,),
    distributions=wheels(
        torch="2.14.1", flashinfer_python="0.7.2.post1", flashinfer_jit_cache="0.7.2.post1+cu130", triton="3.8.0"
    ),
    consumers=(flashinfer(home=None), torch_extensions(home=None)),
    link_probes=(),
)
"""A torch for CUDA 13 with FlashInfer's prebuilt modules and no nvcc."""


def bad_findings(made: Snapshot, request: Request | None = None) -> list[Finding]:
    """Errors and warnings of all checks; a check that crashes fails the test."""
    results = run_checks(CHECKS, Case(made, request or Request()))
    crashed = [f"{result.check}: {result.reason}\n{result.traceback}" for result in results if result.traceback]
    assert not crashed, "\n".join(crashed)
    findings = [finding for result in results for finding in result.findings]
    return [finding for finding in findings if finding.severity is not Severity.NOTE]


@pytest.mark.parametrize("made", STACKS.values(), ids=STACKS.keys())
def test_healthy_stack_has_neither_error_nor_warning(made: Snapshot) -> None:
    assert not bad_findings(made)


def test_prebuilt_modules_leave_only_the_warning_that_is_due() -> None:
    assert [(found.check, found.severity) for found in bad_findings(JIT_CACHE)] == [
        ("toolkit.nvcc-missing", Severity.WARNING)
    ]


@pytest.mark.parametrize("spec", ["rtx-pro-6000x8", "rtx-5090", "b200x7", "gb200x4", "h100x8", "12.0"])
def test_hardware_named_on_a_machine_without_any(spec: str) -> None:
    made = snapshot(host=host_without_gpu(), driver=no_driver(), consumers=(flashinfer(), sglang()))
    assert not bad_findings(made, Request(parse_gpus(spec), "580.95.05"))


def test_an_image_that_is_whole_but_for_the_driver_has_no_error() -> None:
    base = snapshot(host=host_without_gpu(), driver=no_driver(), consumers=(flashinfer(), sglang()))
    image = replace(base, target=Target("root", "/", "--root", root="/srv/image", live=False))
    assert not bad_findings(replace(image, link_probes=(probe(asked=False),)))
    of_nvidia = {"NVIDIA_REQUIRE_CUDA": "cuda>=13.0 brand=tesla,driver>=570,driver<571", "CUDA_VERSION": "13.0.1"}
    named = replace(image, link_probes=(probe(asked=False),), environment=of_nvidia)
    assert not bad_findings(named, Request(parse_gpus("rtx-pro-6000x8"), "580.95.05"))
    without_stub = replace(image, link_probes=(probe(missing=("cuda",), asked=False),))
    assert [(found.check, found.severity) for found in bad_findings(without_stub)] == [
        ("toolkit.libcuda-stub-missing", Severity.WARNING)
    ]


@pytest.mark.parametrize("name", SERVERS)
def test_a_whole_server_has_no_finding_but_those_that_are_due(name: str) -> None:
    found = bad_findings(SERVERS[name])
    assert all(each.severity is Severity.WARNING for each in found), found
    assert [(each.check, each.subject) for each in found] == DUE_WARNINGS.get(name, [])


NEEDS_MORE = (
    "capacity.",
    "container.require-cuda",
    "attention.",
    "kernels.",
    "sglang.argument-renamed",
    "sglang.pins-violated",
    "repair.",
    "toolkit.proof-failed",
)
"""Checks of what these stacks do not have: a named driver, a launch line, SGLang's own metadata, a repair, a
proof that was run."""


def test_every_check_looked_at_some_healthy_stack() -> None:
    looked, asked = set[str](), set[str]()
    for made in (*STACKS.values(), *SERVERS.values()):
        for result in run_checks(CHECKS, Case(made)):
            asked.add(result.check)
            if result.outcome in (Outcome.OK, Outcome.FOUND):
                looked.add(result.check)
    assert asked == {check.id for check in CHECKS}
    assert not [check for check in sorted(asked - looked) if not check.startswith(NEEDS_MORE)]

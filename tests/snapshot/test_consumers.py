"""What is particular to each consumer: when it is there, its compiler, its need, what it brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.snapshot.consumers import RULES
from sm120kit.snapshot.facts import Known, Source, Unknown
from sm120kit.snapshot.types.toolkits import Consumer
from tests.snapshot.image import SITE, Image

CUDA = {"CUDA_HOME": "/opt/cuda"}
PTXAS = f"{SITE}/triton/backends/nvidia/bin"


def nvcc_of(consumer: Consumer) -> str:
    """The compiler it would start; the reason where that is not known."""
    return consumer.nvcc.value if isinstance(consumer.nvcc, Known) else f"unknown: {consumer.nvcc.reason}"


def test_nothing_installed(tmp_path: Path) -> None:
    assert Image(tmp_path).consumers(CUDA) == {}


def test_reports_list_servers_first(tmp_path: Path) -> None:
    image = Image(tmp_path)
    image.install_torch()
    for name in ("flashinfer-python", "sglang", "triton", "apache-tvm-ffi", "sgl-deep-gemm"):
        image.install(name, "9.0")
    names = list(image.consumers())
    assert names == list(RULES)
    assert names[:2] == ["sglang", "flashinfer"]


@pytest.mark.parametrize("variables", [{}, {"CXX": "/opt/gcc/bin/g++"}])
def test_the_host_compiler_is_cxx(tmp_path: Path, variables: dict[str, str]) -> None:
    image = Image(tmp_path)
    image.install_torch()
    for name in ("flashinfer-python", "sglang", "apache-tvm-ffi"):
        image.install(name, "9.0")
    found = image.consumers({**CUDA, **variables}).values()
    assert {consumer.host_compiler for consumer in found} == {variables.get("CXX", "c++")}


@pytest.mark.parametrize("cuda", [None, ""])
def test_a_torch_without_cuda_builds_no_extensions(tmp_path: Path, cuda: str | None) -> None:
    image = Image(tmp_path)
    image.install_torch("2.13.0+cpu", cuda)
    assert image.consumers(CUDA) == {}


@pytest.mark.parametrize(
    ("value", "compiler"),
    [
        ("/opt/nvcc", "/opt/nvcc"),
        ("ccache /opt/nvcc", "/opt/nvcc"),
        ("nvcc", "/usr/bin/nvcc"),
        ("", "unknown: PYTORCH_NVCC is set to '', which names no program"),
        ("gone", "unknown: PYTORCH_NVCC names gone, and no program of that name is on PATH"),
        ("'", 'unknown: PYTORCH_NVCC is set to "\'", which names no program'),
    ],
)
def test_pytorch_nvcc(tmp_path: Path, value: str, compiler: str) -> None:
    image = Image(tmp_path)
    image.install_torch("2.14.1+cu130")
    image.program("/usr/bin/nvcc")
    torch = image.consumers({**CUDA, "PYTORCH_NVCC": value})["torch.utils.cpp_extension"]
    assert nvcc_of(torch) == compiler
    assert torch.cuda_home == Known("/opt/cuda", Source("variable", "CUDA_HOME"))
    assert (torch.distribution, torch.need) == ("torch 2.14.1", "on-request")


def test_flashinfer_takes_its_own_variable(tmp_path: Path) -> None:
    image = Image(tmp_path)
    image.install("flashinfer-python", "0.7.2.post1")
    own = image.consumers({**CUDA, "FLASHINFER_NVCC": "/opt/nvcc", "PYTORCH_NVCC": "/opt/other"})["flashinfer"]
    assert nvcc_of(own) == "/opt/nvcc"
    assert own.found_via == "CUDA_HOME"
    assert own.need == "unless-prebuilt"


@pytest.mark.parametrize(
    ("version", "brings"),
    [("0.5.3", False), ("0.6.9", False), ("0.6.10", True), ("0.6.18.post1", True), ("0.7.2", True)],
)
def test_flashinfer_brings_cccl_since_0_6_10(tmp_path: Path, version: str, brings: bool) -> None:
    image = Image(tmp_path)
    image.install("flashinfer-python", version)
    cccl = f"{SITE}/flashinfer/data/cccl"
    image.file(f"{cccl}/libcudacxx/include/cuda/std/__cccl/version.h", "#define CCCL_VERSION 3006000\n")
    image.file(f"{cccl}/cub/cub/cub.cuh")
    found = image.consumers(CUDA)["flashinfer"]
    assert found.uses_bundled_cccl_only is brings
    if brings:
        assert found.include_dirs == (f"{cccl}/cub", f"{cccl}/libcudacxx/include")
        assert isinstance(found.bundled_cccl, Known)
        assert found.bundled_cccl.value == "3.6.0"
    else:
        assert (found.include_dirs, found.bundled_cccl) == ((), None)


def test_flashinfer_without_the_cccl_it_should_bring(tmp_path: Path) -> None:
    image = Image(tmp_path)
    image.install("flashinfer-python", "0.7.2")
    found = image.consumers(CUDA)["flashinfer"]
    assert found.uses_bundled_cccl_only
    assert isinstance(found.bundled_cccl, Unknown)
    assert f"{SITE}/flashinfer/data/cccl/libcudacxx/include holds no CCCL" in found.bundled_cccl.reason


@pytest.mark.parametrize(
    ("variables", "torch_cuda", "home"),
    [
        ({}, "13.0", "/usr/local/cuda"),
        ({}, None, "/usr/local/cuda"),
        (CUDA, None, "/usr/local/cuda"),
        (CUDA, "13.0", "/opt/cuda"),
        ({"CUDA_PATH": ""}, "13.0", "/usr/local/cuda"),
    ],
)
def test_flashinfer_up_to_0_3_takes_what_torch_takes(
    tmp_path: Path, variables: dict[str, str], torch_cuda: str | None, home: str
) -> None:
    image = Image(tmp_path)
    image.install_torch(cuda=torch_cuda)
    image.install("flashinfer-python", "0.3.1.post1")
    found = image.consumers({**variables, "FLASHINFER_NVCC": "/opt/nvcc"})["flashinfer"]
    assert isinstance(found.cuda_home, Known)
    assert found.cuda_home.value == home
    assert nvcc_of(found) == f"{home}/bin/nvcc"


@pytest.mark.parametrize(
    ("version", "need"),
    [
        ("0.5.5", None),
        ("0.5.6.post2", "on-request"),
        ("0.5.8", "on-request"),
        ("0.5.9", "always"),
        ("0.5.23", "always"),
    ],
)
def test_sglang_needs_a_compiler_since_0_5_9(tmp_path: Path, version: str, need: str | None) -> None:
    image = Image(tmp_path)
    image.install("sglang", version)
    found = image.consumers(CUDA).get("sglang")
    assert (found.need if found else None) == need


@pytest.mark.parametrize(("version", "takes_default"), [("0.5.12", False), ("0.5.17", False), ("0.5.18", True)])
def test_sglang_0_5_18_does_not_look_whether_the_default_exists(
    tmp_path: Path, version: str, takes_default: bool
) -> None:
    image = Image(tmp_path)
    image.install("sglang", version)
    found = image.consumers()["sglang"]
    assert isinstance(found.cuda_home, Known) is takes_default
    assert found.rule.startswith("CUDA_HOME" if takes_default else "that of tvm-ffi")


def test_sglang_passes_its_own_and_tvm_ffis_headers(tmp_path: Path) -> None:
    image = Image(tmp_path)
    image.install("sglang", "0.5.23")
    image.install("apache-tvm-ffi", "0.1.11")
    image.folder(f"{SITE}/tvm_ffi/include")
    image.folder(f"{SITE}/sglang/kernels/jit/include")
    found = image.consumers(CUDA)["sglang"]
    assert found.include_dirs == (f"{SITE}/tvm_ffi/include", f"{SITE}/sglang/kernels/jit/include")
    assert (found.bundled_cccl, found.uses_bundled_cccl_only) == (None, False)


@pytest.mark.parametrize(
    ("version", "variables", "program", "folder", "because"),
    [
        ("0.1.11", {}, "", "/opt/rocm", "/opt/rocm"),
        ("0.1.9", {"ROCM_HOME": "/rocm"}, "", "", "ROCM_HOME"),
        ("0.1.9", {"ROCM_HOME": "", "ROCM_PATH": ""}, "", "", "ROCM_PATH"),
        ("0.1.12", {}, "/usr/bin/hipcc", "", "/usr/bin/hipcc"),
        ("0.1.11", {"TVM_FFI_GPU_BACKEND": "HIP"}, "", "", "TVM_FFI_GPU_BACKEND"),
        ("0.1.11", {"TVM_FFI_GPU_BACKEND": "cuda"}, "", "/opt/rocm", ""),
        ("0.1.11", {"ROCM_HOME": ""}, "", "", ""),
        ("0.1.7", {}, "", "/opt/rocm", ""),
        ("0.1.13.post3", {}, "", "/opt/rocm", ""),
    ],
)
def test_rocm_leads_some_versions_of_tvm_ffi_astray(
    tmp_path: Path, version: str, variables: dict[str, str], program: str, folder: str, because: str
) -> None:
    image = Image(tmp_path)
    image.install("apache-tvm-ffi", version)
    image.install("sglang", "0.5.12")
    if program:
        image.program(program)
    if folder:
        image.folder(folder)
    for found in image.consumers({**CUDA, **variables}).values():
        assert isinstance(found.cuda_home, Unknown) is bool(because)
        assert found.found_via == (because or "CUDA_HOME")
        if isinstance(found.cuda_home, Unknown):
            assert f"because of {because}; set TVM_FFI_GPU_BACKEND=cuda" in found.cuda_home.reason


def test_sglang_with_its_own_build_file_does_not_ask_for_rocm(tmp_path: Path) -> None:
    image = Image(tmp_path)
    image.install("apache-tvm-ffi", "0.1.11")
    image.install("sglang", "0.5.23")
    image.folder("/opt/rocm")
    assert isinstance(image.consumers(CUDA)["sglang"].cuda_home, Known)


@pytest.mark.parametrize(
    ("name", "version", "package", "found"),
    [
        ("sgl-deep-gemm", "0.2.3.post2", False, True),
        ("deep-gemm", "2.1.0", False, True),
        ("sgl-kernel", "0.3.21", True, True),
        ("sglang-kernel", "0.4.10", False, False),
    ],
)
def test_where_deep_gemm_comes_from(tmp_path: Path, name: str, version: str, package: bool, found: bool) -> None:
    image = Image(tmp_path)
    image.install(name, version)
    if package:
        image.file(f"{SITE}/deep_gemm/__init__.py")
    consumer = image.consumers(CUDA).get("deep_gemm")
    assert bool(consumer) is found
    if consumer:
        assert (consumer.distribution, consumer.need) == (f"{name} {version}", "on-request")


@pytest.mark.parametrize(("value", "compiler"), [("/opt/nvcc", "/opt/nvcc"), ("", "/opt/cuda/bin/nvcc")])
def test_deep_gemms_own_variable(tmp_path: Path, value: str, compiler: str) -> None:
    image = Image(tmp_path)
    image.install("sgl-deep-gemm", "0.2.3.post2")
    assert nvcc_of(image.consumers({**CUDA, "DG_JIT_NVCC_COMPILER": value})["deep_gemm"]) == compiler


OLD, BLACKWELL = "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"


@pytest.mark.parametrize(
    ("version", "variables", "ptxas", "found_via"),
    [
        ("3.8.0", {}, f"{PTXAS}/ptxas-blackwell", "its own ptxas-blackwell"),
        ("3.8.0", {OLD: "/opt/ptxas"}, f"{PTXAS}/ptxas-blackwell", "its own ptxas-blackwell"),
        ("3.6.0", {BLACKWELL: "/opt/ptxas"}, "/opt/ptxas", BLACKWELL),
        ("3.6.0", {BLACKWELL: "ptxas"}, "/usr/bin/ptxas", BLACKWELL),
        ("3.6.0", {BLACKWELL: "/gone"}, f"{PTXAS}/ptxas-blackwell", "its own ptxas-blackwell"),
        (
            "3.6.0",
            {BLACKWELL: ""},
            f"unknown: {BLACKWELL} is set and empty: triton ends with PermissionError",
            BLACKWELL,
        ),
        (
            "3.6.0",
            {BLACKWELL: "/opt/text"},
            f"unknown: {BLACKWELL} names /opt/text, which cannot be executed",
            BLACKWELL,
        ),
        ("3.5.1", {OLD: "/opt/ptxas"}, "/opt/ptxas", OLD),
        ("3.5.1", {BLACKWELL: "/opt/ptxas"}, f"{PTXAS}/ptxas", "its own ptxas"),
        ("3.3.1", {BLACKWELL: "/opt/ptxas", OLD: "/opt/ptxas"}, f"{PTXAS}/ptxas-blackwell", "its own ptxas-blackwell"),
        ("3.3.1", {"TRITON_PTXAS-BLACKWELL_PATH": "/opt/ptxas"}, "/opt/ptxas", "TRITON_PTXAS-BLACKWELL_PATH"),
        ("3.2.0", {OLD: ""}, f"{PTXAS}/ptxas", "its own ptxas"),
        ("3.2.0", {OLD: "/opt"}, f"{PTXAS}/ptxas", "its own ptxas"),
        ("3.6.0", {BLACKWELL: "/opt"}, f"unknown: {BLACKWELL} names /opt, which cannot be executed", BLACKWELL),
    ],
)
def test_tritons_assembler_for_blackwell(
    tmp_path: Path, version: str, variables: dict[str, str], ptxas: str, found_via: str
) -> None:
    image = Image(tmp_path)
    image.install("triton", version)
    for program in (f"{PTXAS}/ptxas", f"{PTXAS}/ptxas-blackwell", "/opt/ptxas", "/usr/bin/ptxas"):
        image.program(program)
    image.file("/opt/text", "x")
    triton = image.consumers(variables)["triton"]
    assert nvcc_of(triton).startswith(ptxas)
    assert triton.found_via == found_via
    if isinstance(triton.nvcc, Known):
        assert triton.cuda_home == Known(ptxas.rpartition("/")[0], triton.nvcc.source)


def test_triton_without_its_assembler(tmp_path: Path) -> None:
    image = Image(tmp_path)
    image.install("triton", "3.8.0")
    triton = image.consumers()["triton"]
    assert f"there is no {PTXAS}/ptxas-blackwell" in nvcc_of(triton)
    assert isinstance(triton.cuda_home, Unknown)


@pytest.mark.parametrize(
    ("programs", "variables", "compiler"),
    [
        ((), {}, "gcc"),
        (("/usr/bin/clang",), {}, "clang"),
        (("/usr/bin/clang", "/usr/bin/gcc"), {}, "gcc"),
        (("/usr/bin/gcc",), {"CC": "/opt/cc"}, "/opt/cc"),
    ],
)
def test_triton_builds_its_launcher_with_a_c_compiler(
    tmp_path: Path, programs: tuple[str, ...], variables: dict[str, str], compiler: str
) -> None:
    image = Image(tmp_path)
    image.install("triton", "3.8.0")
    for program in programs:
        image.program(program)
    assert image.consumers(variables)["triton"].host_compiler == compiler

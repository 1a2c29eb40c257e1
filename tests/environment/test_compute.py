"""Which variables a target gets, and why: one situation after the other, from hand-made snapshots."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sm120kit.diagnosis import Case, Request, Unknown
from sm120kit.diagnosis.case import NamedGpu
from sm120kit.environment import Environment, Shell, Variable, applied, compute, render
from sm120kit.snapshot.types.machine import Mount
from sm120kit.snapshot.types.snapshot import Snapshot
from sm120kit.snapshot.types.toolkits import HostCompiler
from tests import builders as made

SERVING = (made.flashinfer(), made.sglang(), made.torch_extensions())
SYSTEM = "/usr/local/cuda-13.2"


def snapshot(*packages: tuple[str, str], **changes: Any) -> Snapshot:
    wheels = packages or (("torch", "2.14.1"), ("flashinfer-python", "0.7.2.post1"), ("apache-tvm-ffi", "0.1.11"))
    names = tuple(made.distribution(name, version) for name, version in wheels)
    return made.snapshot(**{"consumers": SERVING, "distributions": made.known(names), **changes})


def variables(environment: Environment) -> dict[str, Variable]:
    return {each.name: each for each in environment.variables}


def of(taken: Snapshot, *capabilities: str, cuda_home: str = "") -> dict[str, Variable]:
    gpus = tuple(NamedGpu(each, each) for each in capabilities)
    return variables(compute(Case(taken, Request(gpus)), cuda_home))


def test_a_healthy_stack_in_order() -> None:
    environment = compute(Case(snapshot()))
    assert [each.name for each in environment.variables] == [
        "CUDA_HOME",
        "CUDA_PATH",
        "PATH",
        "LIBRARY_PATH",
        "FLASHINFER_CUDA_ARCH_LIST",
        "TORCH_CUDA_ARCH_LIST",
        "TVM_FFI_CUDA_ARCH_LIST",
        "MAX_JOBS",
        "FLASHINFER_NVCC_THREADS",
    ]
    assert environment.cuda_home == made.CU13
    assert all(each.reason.endswith(".") for each in environment.variables)


def test_folders() -> None:
    found = of(snapshot())
    assert found["CUDA_HOME"].value == found["CUDA_PATH"].value == made.CU13
    assert found["PATH"].parts == ("/srv/venv/bin", f"{made.CU13}/bin")
    assert found["LIBRARY_PATH"].parts == (f"{made.CU13}/lib64", f"{made.CU13}/lib64/stubs")


def test_folders_of_the_system_are_not_moved_before_the_toolkit() -> None:
    taken = snapshot()
    assert not isinstance(taken.interpreter, Unknown)
    interpreter = replace(taken.interpreter.value, scripts_dir="/usr/bin")
    found = of(replace(taken, interpreter=made.known(interpreter)))
    assert found["PATH"].parts == (f"{made.CU13}/bin",)


def test_a_distribution_toolkit_in_usr_needs_no_folder() -> None:
    usr = made.toolkit("/usr", layout="distro", link_names=("lib/x86_64-linux-gnu/libcudart.so",))
    found = of(snapshot(toolkits=(usr,), consumers=(made.flashinfer(home="/usr"),)))
    assert found["CUDA_HOME"].value == "/usr"
    assert found["PATH"].parts == ("/srv/venv/bin",)
    assert "LIBRARY_PATH" not in found


def test_only_folders_that_hold_something_to_link() -> None:
    bare = made.toolkit(link_names=("lib/libcudart.so.13",))
    assert "LIBRARY_PATH" not in of(snapshot(toolkits=(bare,)))
    half = made.toolkit(link_names=("targets/x86_64-linux/lib/libcudart.so",))
    assert of(snapshot(toolkits=(half,)))["LIBRARY_PATH"].parts == (f"{made.CU13}/targets/x86_64-linux/lib",)


def test_a_view_that_the_snapshot_has_not_seen() -> None:
    found = of(snapshot(), cuda_home="/data/targets/x/current")
    assert found["CUDA_HOME"].value == "/data/targets/x/current"
    assert found["LIBRARY_PATH"].parts == ("/data/targets/x/current/lib64", "/data/targets/x/current/lib64/stubs")
    assert "FLASHINFER_CUDA_ARCH_LIST" not in found
    told = compute(Case(snapshot()), "/data/targets/x/current", made.toolkit("/data/targets/x/current", "12.8"))
    assert variables(told)["FLASHINFER_CUDA_ARCH_LIST"].value == "12.0a"


def test_a_view_under_another_name() -> None:
    view = made.toolkit("/data/targets/x/current", "13.2", layout="view", aliases=("/data/toolkits/abc",))
    found = of(snapshot(toolkits=(made.toolkit(), view)), cuda_home="/data/toolkits/abc")
    assert found["CUDA_HOME"].value == "/data/toolkits/abc"
    assert "nvcc 13.2" in found["TORCH_CUDA_ARCH_LIST"].reason


def test_no_toolkit_no_compiler_variables() -> None:
    environment = compute(Case(snapshot(toolkits=(), consumers=(made.flashinfer(home=None),))))
    assert environment.cuda_home == ""
    assert list(variables(environment)) == ["PATH", "MAX_JOBS", "FLASHINFER_NVCC_THREADS"]
    assert variables(environment)["PATH"].parts == ("/srv/venv/bin",)


@pytest.mark.parametrize(
    ("flashinfer", "nvcc", "capabilities", "expected"),
    [
        ("0.7.2.post1", "13.0", ("12.0",), "12.0f"),
        ("0.7.2.post1", "12.9", ("12.0",), "12.0f"),
        ("0.7.2.post1", "12.8", ("12.0",), "12.0a"),
        ("0.7.2.post1", "13.0", ("12.1",), "12.1a"),
        ("0.7.2.post1", "12.8", ("12.1",), ""),
        ("0.7.2.post1", "13.0", ("12.0", "12.1"), "12.0f 12.1a"),
        ("0.7.2.post1", "13.0", ("8.9", "12.0"), "12.0f 8.9"),
        ("0.7.2.post1", "13.0", ("10.0",), "10.0a"),
        ("0.7.2.post1", "12.8", ("10.3",), ""),
        ("0.7.2.post1", "13.0", ("11.0",), "11.0a"),
        ("0.7.2.post1", "12.9", ("11.0",), ""),
        ("0.7.2.post1", "13.0", ("9.9", "12.0"), ""),
        ("0.6.7.post2", "13.0", ("12.0",), "12.0f"),
        ("0.6.7.post2", "12.8", ("12.0",), "12.0a"),
        ("0.6.7.post2", "13.0", ("12.1",), "12.0f"),
        ("0.6.7.post2", "13.0", ("12.0", "12.1"), "12.0f"),
        ("0.6.8", "13.0", ("12.1",), "12.1a"),
        ("0.6.0", "13.0", ("12.0",), "12.0a"),
        ("0.5.3", "13.0", ("12.1",), "12.1a"),
        ("0.4.1", "13.0", ("12.0",), ""),
        ("garbage", "13.0", ("12.0",), ""),
        ("0.7.2.post1", "11.8", ("12.0",), ""),
        ("0.7.2.post1", "11.8", ("8.9",), "8.9"),
    ],
)
def test_flashinfer_architectures(flashinfer: str, nvcc: str, capabilities: tuple[str, ...], expected: str) -> None:
    taken = snapshot(("flashinfer-python", flashinfer), toolkits=(made.toolkit(release=nvcc),))
    found = of(taken, *capabilities).get("FLASHINFER_CUDA_ARCH_LIST")
    assert (found.value if found else "") == expected


@pytest.mark.parametrize(
    ("torch", "nvcc", "capabilities", "expected"),
    [
        ("2.14.1", "13.0", ("12.0",), "12.0a"),
        ("2.14.1+cu130", "13.0", ("12.0", "8.9"), "12.0a;8.9"),
        ("2.13.0", "13.0", ("12.1",), "12.1a"),
        ("2.7.0+cu128", "12.8", ("12.0",), "12.0a"),
        ("2.7.0+cu128", "12.9", ("12.1",), ""),
        ("2.6.0", "12.8", ("12.0",), ""),
        ("2.14.1", "12.6", ("12.0",), ""),
    ],
)
def test_torch_architectures(torch: str, nvcc: str, capabilities: tuple[str, ...], expected: str) -> None:
    taken = snapshot(("torch", torch), toolkits=(made.toolkit(release=nvcc),))
    found = of(taken, *capabilities).get("TORCH_CUDA_ARCH_LIST")
    assert (found.value if found else "") == expected


@pytest.mark.parametrize(
    ("current", "how"),
    [
        ("12.0a;8.0", "set-if-unset"),
        ("8.0 12.0a+PTX", "set-if-unset"),
        ("12.0", "set"),
        ("8.0", "set"),
        ("12.0a", "set"),
        ("Blackwell", "set"),
        ("native", "set"),
    ],
)
def test_a_list_that_someone_has_set(current: str, how: str) -> None:
    found = of(snapshot(environment={"TORCH_CUDA_ARCH_LIST": current}))["TORCH_CUDA_ARCH_LIST"]
    assert (found.how, found.value) == (how, "12.0a")


def test_without_a_gpu_no_list_is_guessed() -> None:
    assert "TORCH_CUDA_ARCH_LIST" not in of(snapshot(driver=made.no_driver()))


GIB = made.GIB


@pytest.mark.parametrize(
    ("cpus", "memory", "threads", "jobs"),
    [
        (16, 128 * GIB, "", "14"),
        (8, 128 * GIB, "", "8"),
        (16, 61 * GIB, "", "5"),
        (16, 61 * GIB, "2", "2"),
        (64, 16 * GIB, "", "1"),
        (2, 23 * GIB, "", "2"),
        (2, 1 * GIB, "", "1"),
    ],
)
def test_jobs(cpus: int, memory: int, threads: str, jobs: str) -> None:
    host = made.host(cpus=made.known(cpus), memory_total=made.known(memory))
    environment = {"FLASHINFER_NVCC_THREADS": threads} if threads else {}
    found = of(snapshot(host=host, environment=environment))
    assert (found["MAX_JOBS"].how, found["MAX_JOBS"].value) == ("set-if-unset", jobs)
    assert (found["FLASHINFER_NVCC_THREADS"].how, found["FLASHINFER_NVCC_THREADS"].value) == ("set-if-unset", "1")


def test_jobs_beside_a_gpu_that_shares_the_memory() -> None:
    spark = replace(made.gpu(name="NVIDIA GB10", cc="12.1"), memory_total=Unknown("NVML_ERROR_NOT_SUPPORTED"))
    found = of(snapshot(driver=made.driver(gpus=(spark,))))
    assert found["MAX_JOBS"].value == "6"


def test_jobs_are_not_guessed() -> None:
    host = made.host(memory_total=Unknown("no /proc/meminfo"))
    assert "MAX_JOBS" not in of(snapshot(host=host))


@pytest.mark.parametrize(("current", "how"), [("3", "set-if-unset"), ("-1", "set"), ("many", "set"), ("²", "set")])
def test_a_number_of_jobs_that_someone_has_set(current: str, how: str) -> None:
    assert of(snapshot(environment={"MAX_JOBS": current}))["MAX_JOBS"].how == how


def gcc(version: str, command: str) -> HostCompiler:
    return made.gcc(version, command)


NEW = (gcc("16.1.0", "gcc"), gcc("16.1.0", "c++"))
OLD = (gcc("14", "gcc-14"), gcc("14", "g++-14"))


def test_a_compiler_that_is_too_new_is_replaced() -> None:
    found = of(snapshot(host_compilers=(*NEW, gcc("15", "gcc-15"), *OLD)))
    assert [(name, found[name].how, found[name].value) for name in ("CC", "CXX", "NVCC_CCBIN")] == [
        ("CC", "set", "/usr/bin/gcc-14"),
        ("CXX", "set", "/usr/bin/g++-14"),
        ("NVCC_CCBIN", "set", "/usr/bin/g++-14"),
    ]
    assert "gcc is gcc 16" in found["CC"].reason
    assert "gcc up to 15" in found["CC"].reason


@pytest.mark.parametrize("compilers", [NEW, (*NEW, gcc("14", "gcc-14")), (gcc("13.3.0", "gcc"), gcc("13.3.0", "c++"))])
def test_compilers_that_are_left_alone(compilers: tuple[HostCompiler, ...]) -> None:
    assert not {"CC", "CXX", "NVCC_CCBIN"} & set(of(snapshot(host_compilers=compilers)))


def test_a_fitting_compiler_that_someone_has_chosen_is_kept() -> None:
    mine = HostCompiler("/opt/gcc/bin/gcc", made.known("/opt/gcc/bin/gcc"), "gcc", made.known("13.1.0"))
    variables_now = dict.fromkeys(("CC", "NVCC_CCBIN"), "/opt/gcc/bin/gcc")
    found = of(snapshot(host_compilers=(mine, *NEW, *OLD), environment=variables_now))
    assert found["CC"].how == "set-if-unset"
    assert found["CXX"].how == "set"


def test_a_compiler_that_someone_has_chosen_and_that_is_too_new() -> None:
    mine = HostCompiler("gcc-16", made.known("/usr/bin/gcc-16"), "gcc", made.known("16.1.0"))
    found = of(
        snapshot(host_compilers=(mine, gcc("14.2.0", "gcc"), gcc("14.2.0", "g++")), environment={"CC": "gcc-16"})
    )
    assert (found["CC"].how, found["CC"].value) == ("set", "/usr/bin/gcc")
    assert "gcc-16 is gcc 16" in found["CC"].reason


@pytest.mark.parametrize(
    ("triton", "capability", "ptxas", "variable"),
    [
        ("3.5.1", "12.1", "13.0", "TRITON_PTXAS_PATH"),
        ("3.6.0", "11.0", "13.0", "TRITON_PTXAS_BLACKWELL_PATH"),
        ("3.5.1", "12.0", "13.0", ""),
        ("3.6.0", "12.1", "13.0", ""),
        ("3.8.0", "12.1", "13.0", ""),
        ("3.4.0", "12.1", "12.9", "TRITON_PTXAS_PATH"),
        ("3.4.0", "12.1", "13.0", ""),
        ("3.3.1", "12.1", "12.9", ""),
        ("3.5.1", "12.1", "12.8", ""),
        ("3.5.1", "8.9", "13.0", ""),
        ("3.2.0", "12.0", "13.0", ""),
    ],
)
def test_triton(triton: str, capability: str, ptxas: str, variable: str) -> None:
    taken = snapshot(("triton", triton), toolkits=(made.toolkit(release=ptxas),))
    found = {name: each.value for name, each in of(taken, capability).items() if name.startswith("TRITON")}
    assert found == ({variable: f"{made.CU13}/bin/ptxas"} if variable else {})


NFS = (Mount("/home", "nfs4"),)
ALL = (("torch", "2.14.1"), ("flashinfer-python", "0.7.2"), ("triton", "3.8.0"), ("apache-tvm-ffi", "0.1.11"))


def caches(found: dict[str, Variable]) -> dict[str, str]:
    return {name: each.value for name, each in found.items() if "CACHE" in name or name.endswith(("_BASE", "_DIR"))}


def test_caches_on_a_local_disk_stay() -> None:
    host = made.host(slow_mounts=(Mount("/mnt/models", "nfs4"), Mount("/home/annex", "nfs4")))
    assert caches(of(snapshot(*ALL, host=host, environment={"HOME": "/home/ann"}))) == {}


def test_caches_on_a_network_disk_move() -> None:
    host = made.host(slow_mounts=NFS)
    found = of(snapshot(*ALL, host=host, environment={"HOME": "/home/ann"}))
    assert caches(found) == {
        "FLASHINFER_WORKSPACE_BASE": "/var/tmp/sm120kit-ann/flashinfer",
        "TRITON_CACHE_DIR": "/var/tmp/sm120kit-ann/triton",
        "TORCH_EXTENSIONS_DIR": "/var/tmp/sm120kit-ann/torch_extensions",
        "TVM_FFI_CACHE_DIR": "/var/tmp/sm120kit-ann/tvm-ffi",
        "CUDA_CACHE_PATH": "/var/tmp/sm120kit-ann/nv",
    }
    assert "/home/ann/.triton/cache lies on /home (nfs4)" in found["TRITON_CACHE_DIR"].reason


def test_caches_of_sglang_and_of_a_temporary_folder_move() -> None:
    host = made.host(slow_mounts=(*NFS, Mount("/scratch", "lustre")))
    environment = {"HOME": "/home/ann", "TMPDIR": "/scratch/tmp"}
    assert "TORCHINDUCTOR_CACHE_DIR" in caches(of(snapshot(*ALL, host=host, environment=environment)))
    with_sglang = caches(of(snapshot(*ALL, ("sglang", "0.5.23"), host=host, environment={"HOME": "/home/ann"})))
    assert set(with_sglang) >= {"SGLANG_CACHE_DIR", "SGLANG_JIT_CACHE_DIR", "SGLANG_DG_CACHE_DIR"}
    assert with_sglang["TORCHINDUCTOR_CACHE_DIR"] == "/var/tmp/sm120kit-ann/inductor"


def test_a_local_cache_folder_of_the_user_is_used() -> None:
    environment = {"HOME": "/home/ann", "XDG_CACHE_HOME": "/local/cache"}
    found = caches(of(snapshot(*ALL, host=made.host(slow_mounts=NFS), environment=environment)))
    assert found["TRITON_CACHE_DIR"] == "/local/cache/sm120kit/triton"
    assert "TORCH_EXTENSIONS_DIR" not in found


@pytest.mark.parametrize(("current", "how"), [("/local/triton", "set-if-unset"), ("/home/ann/triton", "set")])
def test_a_cache_that_someone_has_moved(current: str, how: str) -> None:
    environment = {"HOME": "/home/ann", "TRITON_CACHE_DIR": current}
    found = of(snapshot(*ALL, host=made.host(slow_mounts=NFS), environment=environment))
    assert found["TRITON_CACHE_DIR"].how == how


def test_no_local_disk_no_move() -> None:
    host = made.host(slow_mounts=(Mount("/", "nfs4"),))
    assert caches(of(snapshot(*ALL, host=host, environment={"HOME": "/home/ann"}))) == {}


def test_wsl_finds_its_driver() -> None:
    host = made.host(container=made.known("wsl2"), device_nodes=made.known(("/dev/dxg",)))
    unseen = made.driver(libcuda=made.known(()))
    found = of(snapshot(host=host, driver=unseen))
    assert (found["LD_LIBRARY_PATH"].how, found["LD_LIBRARY_PATH"].parts) == ("prepend", ("/usr/lib/wsl/lib",))
    assert "LD_LIBRARY_PATH" not in of(snapshot(host=host))
    assert "LD_LIBRARY_PATH" not in of(snapshot(driver=unseen))


WHEELS = (("torch", "2.10.0"), ("nvidia-cuda-runtime-cu12", "12.8.90"))


@pytest.mark.parametrize(
    ("release", "packages", "parts"),
    [
        ("12.4", WHEELS, ("/usr/local/cuda-12.4/lib64", "/usr/local/cuda-12.4/lib")),
        ("12.8", WHEELS, ()),
        ("12.9", WHEELS, ()),
        ("11.8", WHEELS, ()),
        ("12.4", WHEELS[:1], ()),
    ],
)
def test_older_libraries_do_not_shadow_the_wheels(
    release: str, packages: tuple[tuple[str, str], ...], parts: tuple[str, ...]
) -> None:
    system = made.toolkit(f"/usr/local/cuda-{release}", release, layout="system")
    taken = snapshot(*packages, torch=made.torch_build("2.10.0", "12.8"), toolkits=(made.toolkit(), system))
    found = of(taken).get("LD_LIBRARY_PATH")
    assert (found.parts if found else ()) == parts
    assert found is None or found.how == "remove"


def test_stubs_never_reach_the_loader() -> None:
    for each in compute(Case(snapshot())).variables:
        if each.name == "LD_LIBRARY_PATH":
            assert not any("stubs" in part for part in each.parts)


@pytest.mark.parametrize("shell", ["sh", "fish"])
def test_the_script_stays_the_same_in_a_shell_that_has_sourced_it(shell: Shell) -> None:
    host = made.host(slow_mounts=NFS)
    taken = snapshot(
        *ALL, host=host, host_compilers=(*NEW, *OLD), environment={"HOME": "/home/ann", "PATH": "/usr/bin"}
    )
    first = compute(Case(taken))
    sourced = replace(taken, environment=applied(first, taken.environment))
    assert render(compute(Case(sourced)), shell) == render(first, shell)

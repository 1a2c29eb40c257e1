"""One tree of every layout, as documented or as laid out by the real packages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sm120kit.snapshot.facts import Known, Source, Unknown
from sm120kit.snapshot.types.toolkits import HostCompilerLimits, Toolkit
from tests.snapshot.toolkit_trees import (
    PROFILE_CONDA,
    PROFILE_DEBIAN,
    SITE,
    WHEEL_FILES,
    cccl,
    context,
    crt,
    install_wheel,
    installer_tree,
    only,
    release_of,
    runtime_headers,
    toolkits_of,
    under,
    wheel_tree,
    write,
)

VERSION_JSON = {
    "cuda_nvcc": "13.0.88",
    "cuda_crt": "13.0.88",
    "libnvvm": "13.0.87",
    "cuda_cudart": "13.0.96",
    "cuda_nvrtc": "13.0.88",
}


def version_json(**changes: str) -> str:
    return json.dumps({key: {"name": key, "version": text} for key, text in {**VERSION_JSON, **changes}.items()})


def read_home(home: Path, **options: Any) -> Toolkit:
    return only(toolkits_of(context(cuda_home=home, **options)))


def test_wheels_tell_every_release_and_own_every_part(tmp_path: Path) -> None:
    home = wheel_tree(tmp_path / SITE)
    toolkit = only(toolkits_of(context(site_packages=[tmp_path / SITE])))
    assert (toolkit.home, toolkit.layout, toolkit.found_via) == (str(home), "wheel-cu13", ("site-packages",))
    assert {part.name: release_of(toolkit, part.name) for part in toolkit.parts} == {
        **dict.fromkeys(("nvcc", "nvcc.profile", "cicc", "ptxas", "fatbinary", "cudafe++", "nvlink"), "13.0.88"),
        **dict.fromkeys(("libdevice", "crt"), "13.0.88"),
        **dict.fromkeys(("runtime-headers", "driver-header", "libcudart"), "13.0.96"),
        **dict.fromkeys(("libcudart-static", "libcudadevrt"), "13.0.96"),
        "cccl": "13.0.85",
    }
    cicc = toolkit.part("cicc")
    assert cicc is not None
    assert (cicc.path, cicc.owner, cicc.altered) == (f"{home}/nvvm/bin/cicc", "nvidia-nvvm 13.0.88", False)
    assert cicc.release == Known("13.0.88", Source("wheel", "nvidia-nvvm 13.0.88"))
    assert toolkit.include_dirs == (f"{home}/include", f"{home}/include/cccl")
    assert toolkit.link_names == ("lib/libcudadevrt.a", "lib/libcudart.so.13", "lib/libcudart_static.a")
    assert len(toolkit.owners) == 5
    assert toolkit.host_compiler_limits == Known(
        HostCompilerLimits(15, 20), Source("file", f"{home}/include/crt/host_config.h", 4)
    )
    assert isinstance(toolkit.crt_launch_arguments, Known)
    assert toolkit.crt_launch_arguments.value == 2
    assert isinstance(toolkit.architectures, Unknown)


def test_a_changed_file_is_altered_and_speaks_for_itself(tmp_path: Path) -> None:
    home = wheel_tree(tmp_path / SITE)
    write(home, under("include", runtime_headers(13020)))
    (home / "include/cuda_runtime_api.h").write_text("// longer than recorded\n#define CUDART_VERSION 13020\n")
    (home / "nvvm/bin/cicc").write_text("\x7fELF another one")
    toolkit = only(toolkits_of(context(site_packages=[tmp_path / SITE])))
    headers, cicc = toolkit.part("runtime-headers"), toolkit.part("cicc")
    assert headers is not None
    assert (release_of(toolkit, "runtime-headers"), headers.altered) == ("13.2", True)
    assert headers.owner == "nvidia-cuda-runtime 13.0.96"
    assert cicc is not None
    assert cicc.altered
    assert isinstance(cicc.release, Unknown)
    assert "nvidia-nvvm 13.0.88" in cicc.release.reason


def test_crt_of_another_release_is_seen_although_host_config_has_the_recorded_size(tmp_path: Path) -> None:
    home = wheel_tree(tmp_path / SITE)
    other = crt("13.2")
    other["crt/host_config.h"] = crt("13.0")["crt/host_config.h"]
    write(home, under("include", other))
    toolkit = only(toolkits_of(context(site_packages=[tmp_path / SITE])))
    part = toolkit.part("crt")
    assert part is not None
    assert part.altered
    assert isinstance(part.release, Unknown)
    assert isinstance(toolkit.crt_launch_arguments, Known)
    assert toolkit.crt_launch_arguments.value == 1


def test_two_records_of_one_package_are_told_apart_by_size(tmp_path: Path) -> None:
    site = tmp_path / SITE
    wheel_tree(site)
    newer = {**crt("13.2"), "crt/host_config.h": crt("13.0")["crt/host_config.h"]}
    install_wheel(site, "nvidia_cuda_crt-13.2.78", under("nvidia/cu13/include", newer))
    toolkit = only(toolkits_of(context(site_packages=[site])))
    assert release_of(toolkit, "crt") == "13.2.78"


def test_cu12_wheels_are_one_runtime_without_nvcc(tmp_path: Path) -> None:
    site = tmp_path / SITE
    install_wheel(
        site,
        "nvidia_cuda_nvcc_cu12-12.8.93",
        under(
            "nvidia/cuda_nvcc",
            {"bin/ptxas": "\x7fELF", "nvvm/libdevice/libdevice.10.bc": "", **under("include", crt("12.8"))},
        ),
    )
    runtime = {**under("include", runtime_headers(12080)), "lib/libcudart.so.12": ""}
    install_wheel(site, "nvidia_cuda_runtime_cu12-12.8.90", under("nvidia/cuda_runtime", runtime))
    install_wheel(site, "nvidia_cuda_cccl_cu12-12.8.90", under("nvidia/cuda_cccl/include", cccl(2007000, "")))
    install_wheel(site, "nvidia_cublas_cu12-12.8.4.1", {"nvidia/cublas/include/cublasLt.h": ""})
    toolkit = only(toolkits_of(context(site_packages=[site])))
    assert (toolkit.home, toolkit.layout, toolkit.has_nvcc) == (f"{site}/nvidia", "wheel-cu12", False)
    assert release_of(toolkit, "ptxas") == release_of(toolkit, "crt") == "12.8.93"
    assert release_of(toolkit, "libcudart") == "12.8.90"
    assert toolkit.headers == ("cublasLt.h",)
    assert toolkit.link_names == ("cuda_runtime/lib/libcudart.so.12",)
    assert isinstance(toolkit.profile, Unknown)


def test_torchs_cu13_wheels_without_nvcc_are_a_runtime(tmp_path: Path) -> None:
    wheels = {"nvidia_cuda_runtime-13.0.96": WHEEL_FILES["nvidia_cuda_runtime-13.0.96"]}
    home = wheel_tree(tmp_path / SITE, wheels)
    toolkit = only(toolkits_of(context(site_packages=[tmp_path / SITE])))
    assert not toolkit.has_nvcc
    assert toolkit.include_dirs == (f"{home}/include",)
    assert release_of(toolkit, "runtime-headers") == "13.0.96"


def test_a_folder_of_math_libraries_alone_is_no_cuda_tree(tmp_path: Path) -> None:
    install_wheel(tmp_path / SITE, "nvidia_cublas-13.0.2", {"nvidia/cu13/lib/libcublas.so.13": ""})
    assert toolkits_of(context(site_packages=[tmp_path / SITE])) == ()


def test_an_installed_toolkit_tells_what_it_can_from_its_files(tmp_path: Path) -> None:
    home = installer_tree(tmp_path / "cuda-13.0")
    write(home, {"version.json": version_json(cuda_cudart="13.0.1", cuda_crt="13.2.5")})
    toolkit = read_home(home)
    assert toolkit.layout == "system"
    headers = toolkit.part("runtime-headers")
    assert headers is not None
    assert headers.release == Known("13.0", Source("file", headers.path, 3))
    assert release_of(toolkit, "driver-header") == "13.0"
    assert release_of(toolkit, "libcudart") == "13.0.96"
    assert release_of(toolkit, "nvrtc") == "13.0.96"
    assert release_of(toolkit, "crt") == "13.0"
    assert release_of(toolkit, "cccl") == "3.0.1"


def test_version_json_speaks_for_what_cannot_tell(tmp_path: Path) -> None:
    home = installer_tree(tmp_path / "cuda-13.0")
    write(home, {"version.json": version_json()})
    toolkit = read_home(home)
    assert release_of(toolkit, "nvcc") == release_of(toolkit, "ptxas") == "13.0.88"
    assert release_of(toolkit, "cicc") == "13.0.87"
    assert release_of(toolkit, "libcudart-static") == "13.0.96"
    nvcc = toolkit.part("nvcc")
    assert nvcc is not None
    assert nvcc.release == Known("13.0.88", Source("file", f"{home}/version.json"))


def test_without_any_word_a_release_is_unknown_with_the_reason(tmp_path: Path) -> None:
    toolkit = read_home(installer_tree(tmp_path / "cuda", release="13.2", number=13020, full="13.2.75"))
    nvcc, part = toolkit.part("nvcc"), toolkit.part("crt")
    assert nvcc is not None
    assert isinstance(nvcc.release, Unknown)
    assert "unpacked image" in nvcc.release.reason
    assert part is not None
    assert isinstance(part.release, Unknown)
    assert "not those of 13.0" in part.release.reason


def test_crt_takes_version_jsons_word_unless_its_form_contradicts(tmp_path: Path) -> None:
    other = installer_tree(tmp_path / "a", release="13.2", number=13020, full="13.2.75")
    write(other, {"version.json": version_json(cuda_crt="13.2.78")})
    assert release_of(read_home(other), "crt") == "13.2.78"
    lying = installer_tree(tmp_path / "b", release="13.2", number=13020, full="13.2.75")
    write(lying, {"version.json": version_json(cuda_crt="13.0.88")})
    assert release_of(read_home(lying), "crt") == "?"


def test_the_compiler_is_asked_only_where_nothing_tells(tmp_path: Path) -> None:
    home = installer_tree(tmp_path / "cuda")
    answer = "Cuda compilation tools, release 13.0, V13.0.88"
    for name in ("nvcc", "ptxas"):
        log = tmp_path / f"{name}.log"
        (home / "bin" / name).write_text(
            f'#!/bin/sh\necho "$*" >> {log}\n'
            f'if [ "$1" = --version ]; then echo "{answer}"; else echo compute_90; echo compute_120; fi\n'
        )
    toolkit = read_home(home, live=True, environment={"PATH": "/usr/bin:/bin"})
    assert release_of(toolkit, "nvcc") == release_of(toolkit, "ptxas") == "13.0.88"
    assert isinstance(toolkit.architectures, Known)
    assert toolkit.architectures.value == ("compute_90", "compute_120")
    assert (tmp_path / "nvcc.log").read_text().split() == ["--version", "--list-gpu-arch"]
    write(home, {"version.json": version_json()})
    (tmp_path / "nvcc.log").unlink()
    assert release_of(read_home(home, live=True), "nvcc") == "13.0.88"
    assert not (tmp_path / "nvcc.log").exists()


@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 3\n", "#!/bin/sh\necho nothing\n", "\x7fELF garbage", ""])
def test_a_compiler_that_tells_nothing_is_unknown(tmp_path: Path, script: str) -> None:
    home = installer_tree(tmp_path / "cuda")
    (home / "bin/nvcc").write_text(script)
    toolkit = read_home(home, live=True, environment={"PATH": "/usr/bin:/bin"})
    assert release_of(toolkit, "nvcc") == "?"
    assert isinstance(toolkit.architectures, Unknown)


def test_deep_scans_cicc(tmp_path: Path) -> None:
    home = installer_tree(tmp_path / "cuda")
    (home / "nvvm/bin/cicc").write_bytes(b"\x7fELF" + bytes(2 << 20) + b"tools, release 13.5, V13.5.37\n")
    assert release_of(read_home(home), "cicc") == "?"
    assert release_of(read_home(home, deep=True), "cicc") == "13.5.37"


def test_nvrtc_of_a_tree_of_nobody_is_told_by_its_built_ins(tmp_path: Path) -> None:
    home = write(tmp_path / "t", {"lib/libnvrtc.so.13": "", "lib/libnvrtc-builtins.so.13.2": "", "bin/nvcc": ""})
    assert release_of(read_home(home), "nvrtc") == "13.2"


@pytest.mark.parametrize("linked", ["12", "13"])
def test_the_runtime_library_is_the_one_that_the_linker_would_take(tmp_path: Path, linked: str) -> None:
    home = write(tmp_path / "t", {"lib64/libcudart.so.12.8.90": "", "lib64/libcudart.so.13.0.96": "", "bin/nvcc": ""})
    for major, full in (("12", "12.8.90"), ("13", "13.0.96")):
        (home / f"lib64/libcudart.so.{major}").symlink_to(f"libcudart.so.{full}")
    (home / "lib64/libcudart.so").symlink_to(f"libcudart.so.{linked}")
    (home / "lib64/libcuda.so").symlink_to("gone")
    toolkit = read_home(home)
    part = toolkit.part("libcudart")
    assert part is not None
    assert part.path == f"{home}/lib64/libcudart.so.{linked}"
    assert release_of(toolkit, "libcudart").startswith(f"{linked}.")
    assert "lib64/libcudart.so" in toolkit.link_names
    assert "lib64/libcuda.so" not in toolkit.link_names


def test_sbsa_installer_layout(tmp_path: Path) -> None:
    home = installer_tree(tmp_path / "cuda-13.0", arch="sbsa-linux")
    (home / "bin/nvcc").write_bytes(b"\x7fELF" + bytes(14) + (183).to_bytes(2, "little"))
    toolkit = read_home(home)
    assert toolkit.include_dirs[0] == f"{home}/targets/sbsa-linux/include"
    assert toolkit.headers == ("cublasLt.h",)
    assert "lib64/stubs/libcuda.so" in toolkit.link_names
    assert "targets/sbsa-linux/lib/libcudart.so" in toolkit.link_names
    assert isinstance(toolkit.crt_launch_arguments, Known)


@pytest.mark.parametrize(("machine", "arch"), [(62, "x86_64-linux"), (183, "sbsa-linux")])
def test_conda_layout(tmp_path: Path, machine: int, arch: str) -> None:
    prefix = tmp_path / "env"
    target = f"targets/{arch}"
    write(
        prefix,
        {
            **{f"bin/{name}": "" for name in ("ptxas", "fatbinary", "cudafe++", "nvlink")},
            "bin/nvcc.profile": PROFILE_CONDA,
            "nvvm/bin/cicc": "",
            "nvvm/libdevice/libdevice.10.bc": "",
            **under(f"{target}/include", {**crt("12.8"), **runtime_headers(12080), **cccl(2007000, "")}),
            f"{target}/lib/libcudart.so.12.8.90": "",
            f"{target}/lib/stubs/libcuda.so": "",
            "conda-meta/cuda-nvcc-tools-12.8.93-he02047a_1.json": "{}",
            "conda-meta/cuda-nvvm-tools-12.8.93-he02047a_1.json": "{}",
            "conda-meta/cuda-crt-dev_linux-64-12.8.93-ha770c72_1.json": "{}",
        },
    )
    (prefix / "bin/nvcc").write_bytes(b"\x7fELF" + bytes(14) + machine.to_bytes(2, "little"))
    (prefix / target / "nvvm").symlink_to("../../nvvm")
    (prefix / target / "lib/libcudart.so.12").symlink_to("libcudart.so.12.8.90")
    (prefix / target / "lib/libcudart.so").symlink_to("libcudart.so.12")
    (prefix / "lib").mkdir()
    (prefix / "lib/libcudart.so").symlink_to(f"../{target}/lib/libcudart.so")
    site = prefix / "lib/python3.12/site-packages"
    site.mkdir(parents=True)
    toolkit = only(toolkits_of(context(site_packages=[site])))
    assert (toolkit.home, toolkit.layout, toolkit.found_via) == (str(prefix), "conda", ("conda environment",))
    assert toolkit.include_dirs == (f"{prefix}/{target}/include",)
    assert release_of(toolkit, "nvcc") == release_of(toolkit, "cicc") == release_of(toolkit, "crt") == "12.8.93"
    assert release_of(toolkit, "runtime-headers") == "12.8"
    assert release_of(toolkit, "libcudart") == "12.8.90"
    assert toolkit.part("libdevice") is not None
    assert "lib/libcudart.so" in toolkit.link_names
    assert f"{target}/lib/stubs/libcuda.so" in toolkit.link_names
    assert toolkit.cccl_copies[0].has_nv_target


@pytest.fixture
def debian(tmp_path: Path) -> Path:
    """Debian's and Ubuntu's nvidia-cuda-toolkit: headers in /usr/include, cicc beside nvcc, a script in /usr/bin."""
    tools = "usr/lib/nvidia-cuda-toolkit"
    write(
        tmp_path,
        {
            "usr/bin/nvcc": f'#!/bin/sh\n\nexec /{tools}/bin/nvcc "$@"\n',
            **{f"{tools}/bin/{name}": "" for name in ("nvcc", "cicc", "ptxas", "fatbinary", "cudafe++", "nvlink")},
            "etc/nvcc.profile": PROFILE_DEBIAN,
            f"{tools}/libdevice/libdevice.10.bc": "",
            **under("usr/include", {**crt("12.8"), **runtime_headers(12000), **cccl(2007000, ""), "cublasLt.h": ""}),
            "usr/lib/x86_64-linux-gnu/libcudart.so.12.0.146": "",
            "usr/lib/x86_64-linux-gnu/stubs/libcuda.so": "",
        },
    )
    (tmp_path / tools / "bin/nvcc.profile").symlink_to("/etc/nvcc.profile")
    library = tmp_path / "usr/lib/x86_64-linux-gnu"
    (library / "libcudart.so.12").symlink_to("libcudart.so.12.0.146")
    (library / "libcudart.so").symlink_to("libcudart.so.12")
    (tmp_path / "usr/lib/cuda").mkdir()
    (tmp_path / "usr/lib/cuda/bin").symlink_to("../nvidia-cuda-toolkit/bin")
    return tmp_path


def test_distro_layout(debian: Path) -> None:
    toolkit = only(toolkits_of(context(root=debian, system_toolkits=True, environment={"PATH": "/usr/bin"})))
    assert (toolkit.home, toolkit.layout) == ("/usr/lib/nvidia-cuda-toolkit", "distro")
    assert set(toolkit.aliases) == {"/usr", "/usr/lib/cuda"}
    assert toolkit.include_dirs == ("/usr/include",)
    assert toolkit.headers == ("cublasLt.h",)
    cicc = toolkit.part("cicc")
    assert cicc is not None
    assert cicc.path == "/usr/lib/nvidia-cuda-toolkit/bin/cicc"
    assert toolkit.part("libdevice") is not None
    assert release_of(toolkit, "runtime-headers") == "12.0"
    assert release_of(toolkit, "libcudart") == "12.0.146"
    assert toolkit.cccl_copies[0].has_nv_target


def test_distro_layout_with_cuda_home_usr(debian: Path) -> None:
    toolkit = only(toolkits_of(context(root=debian, environment={"CUDA_HOME": "/usr"})))
    assert (toolkit.home, toolkit.real_home, toolkit.layout) == ("/usr", "/usr/lib/nvidia-cuda-toolkit", "distro")
    assert "lib/x86_64-linux-gnu/libcudart.so" in toolkit.link_names
    assert "lib/x86_64-linux-gnu/stubs/libcuda.so" in toolkit.link_names


def test_system_headers_do_not_shadow_a_tree_that_has_its_own(debian: Path) -> None:
    installer_tree(debian / "usr/local/cuda-13.0")
    toolkit = only(toolkits_of(context(root=debian, cuda_home="/usr/local/cuda-13.0")))
    assert all(folder.startswith("/usr/local/cuda-13.0/") for folder in toolkit.include_dirs)
    assert len(toolkit.cccl_copies) == 1


def test_nv_target_of_the_system_counts_where_the_tree_has_none(debian: Path) -> None:
    home = installer_tree(debian / "usr/local/cuda-13.0")
    (home / "targets/x86_64-linux/include/cccl/nv/target").unlink()
    toolkit = only(toolkits_of(context(root=debian, cuda_home="/usr/local/cuda-13.0")))
    assert toolkit.include_dirs[-1] == "/usr/include"


def test_a_view_of_links_belongs_to_the_wheels(tmp_path: Path) -> None:
    home = wheel_tree(tmp_path / SITE)
    view = tmp_path / "view"
    for path in [each for each in home.rglob("*") if each.is_file()]:
        link = view / path.relative_to(home)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    toolkit = toolkits_of(context(site_packages=[tmp_path / SITE], cuda_home=view))[0]
    assert (toolkit.home, toolkit.real_home) == (str(view), str(view))
    assert release_of(toolkit, "nvcc") == release_of(toolkit, "crt") == "13.0.88"
    assert toolkit.include_dirs == (f"{view}/include", f"{view}/include/cccl")


def test_a_tree_with_dist_info_beside_it(tmp_path: Path) -> None:
    site = tmp_path / "built"
    home = wheel_tree(site)
    (home / "dist-info").mkdir()
    for folder in site.glob("*.dist-info"):
        folder.rename(home / "dist-info" / folder.name)
    assert release_of(read_home(home), "cicc") == "13.0.88"


def test_a_tree_in_the_site_packages_of_another_environment(tmp_path: Path) -> None:
    home = wheel_tree(tmp_path / "other" / SITE)
    (tmp_path / SITE).mkdir(parents=True)
    toolkits = toolkits_of(context(site_packages=[tmp_path / SITE], cuda_home=home))
    assert release_of(only(toolkits), "cicc") == "13.0.88"
    assert "nvidia-nvvm 13.0.88" in only(toolkits).owners


def test_every_toolkit_survives_the_way_through_json(tmp_path: Path, debian: Path) -> None:
    wheel_tree(tmp_path / SITE)
    for made in (context(site_packages=[tmp_path / SITE]), context(root=debian, system_toolkits=True)):
        toolkits = toolkits_of(made)
        assert msgspec.json.decode(msgspec.json.encode(toolkits), type=tuple[Toolkit, ...]) == toolkits

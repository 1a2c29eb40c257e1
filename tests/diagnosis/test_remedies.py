"""Commands that people will copy: exact versions that belong together, in the way the toolkit was installed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sm120kit.diagnosis.alternatives import misfit, other_toolkits, source_of
from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.linking import LinkFailure, link_failures, take_real_home
from sm120kit.diagnosis.parts import missing_parts
from sm120kit.diagnosis.releases import Release
from sm120kit.diagnosis.remedies import cccl_package, compose_view, install_toolkit, reinstall_parts
from sm120kit.diagnosis.types import Manual
from sm120kit.snapshot.types.toolkits import GoneFile
from tests.builders import CU13, driver, gpu, known, probe, sglang, snapshot, toolkit, torch_build

R130, R129 = Release(13, 0), Release(12, 9)


@pytest.mark.parametrize(
    ("layout", "release", "commands"),
    [
        ("unknown", R130, ('pip install "cuda-toolkit[nvcc,cccl]==13.0.3.0"',)),
        ("wheel-cu13", Release(13, 2), ('pip install "cuda-toolkit[nvcc,cccl]==13.2.1"',)),
        ("wheel-cu12", R129, ("conda install -c nvidia cuda-toolkit=12.9", "apt-get install cuda-toolkit-12-9")),
        ("conda", R130, ("conda install -c nvidia cuda-toolkit=13.0",)),
        ("system", R130, ("apt-get install cuda-toolkit-13-0",)),
        ("unknown", Release(13, 9), ()),
        ("unknown", None, ()),
    ],
)
def test_whole_toolkit(layout: str, release: Release | None, commands: tuple[str, ...]) -> None:
    assert install_toolkit(release, layout).commands == commands


def test_new_wheels_are_named_to_the_consumers() -> None:
    remedy = install_toolkit(R130, site_packages="/srv/my venv/site-packages")
    assert remedy.commands[-1] == "export CUDA_HOME='/srv/my venv/site-packages/nvidia/cu13'"


@pytest.mark.parametrize(
    ("layout", "release", "commands"),
    [
        (
            "wheel-cu13",
            R130,
            ("pip install --force-reinstall --no-deps nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96",),
        ),
        ("conda", R130, ("conda install --force-reinstall -c nvidia cuda-nvvm-tools=13.0 cuda-cudart-dev=13.0",)),
        ("system", R130, ("apt-get install --reinstall libnvvm-13-0 cuda-cudart-dev-13-0",)),
        ("system", R129, ("apt-get install --reinstall cuda-nvvm-12-9 cuda-cudart-dev-12-9",)),
        ("distro", R129, ("apt-get install --reinstall nvidia-cuda-toolkit",)),
        ("view", R130, ()),
        ("wheel-cu13", None, ()),
    ],
)
def test_missing_parts(layout: str, release: Release | None, commands: tuple[str, ...]) -> None:
    broken = toolkit(layout=layout, drop=("cicc", "runtime-headers"))
    assert reinstall_parts(broken, release, missing_parts(broken)).commands == commands


@pytest.mark.parametrize(
    ("layout", "release", "commands"),
    [
        ("wheel-cu13", Release(13, 5), ("pip install nvidia-cuda-cccl==13.3.5.0.6",)),
        ("conda", R130, ("conda install -c nvidia cuda-cccl=13.0",)),
        ("system", R130, ("apt-get install cuda-cccl-13-0",)),
        ("distro", R130, ()),
        ("unknown", None, ()),
    ],
)
def test_cccl(layout: str, release: Release | None, commands: tuple[str, ...]) -> None:
    assert cccl_package(toolkit(layout=layout), release).commands == commands


def test_only_a_whole_and_fitting_toolkit_is_offered() -> None:
    good = toolkit("/opt/good", layout="system")
    case = Case(
        snapshot(
            toolkits=(
                toolkit(drop=("cicc",)),
                toolkit("/opt/old", "12.8", layout="system"),
                toolkit("/opt/mixed", releases={"crt": "13.5"}),
                toolkit("/opt/runtime", drop=("nvcc",)),
                good,
            ),
            consumers=(sglang(),),
        )
    )
    [remedy] = other_toolkits(case)
    assert isinstance(remedy, Manual)
    assert (remedy.text, remedy.commands) == (
        "Take the toolkit /opt/good (nvcc 13.0)",
        ("export CUDA_HOME=/opt/good",),
    )
    assert other_toolkits(case, ["/opt/good"]) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gone_files": (GoneFile("/opt/other/include/cuda_fp16.h", "nvidia-cuda-runtime 13.0.96", True),)}, ""),
        ({"cccl": None}, ""),
        ({"link_names": ()}, "; it has no libcudart.so where linkers look, which is to be mended there"),
        ({"layout": "conda", "link_names": ("lib/libcudart.so",)}, " (nvcc 13.0)"),
    ],
)
def test_a_toolkit_with_faults_of_its_own_is_no_way_out_or_says_so(changes: dict[str, Any], words: str) -> None:
    other = toolkit("/opt/other", **{"layout": "system", **changes})
    case = Case(snapshot(toolkits=(toolkit(drop=("cicc",)), other), consumers=(sglang(),)))
    ours = compose_view(other, "Compose one")
    ways = other_toolkits(case, ours=[ours])
    if not words:
        assert ways == [ours]
        return
    # What leaves no fault comes first.
    assert ways.index(ours) == (0 if "no libcudart.so" in words else 1)
    assert next(each for each in ways if each is not ours).text.endswith(words)


@pytest.mark.parametrize(
    ("library", "link_names", "ending"),
    [
        ("cuda", ("lib64/libcudart.so",), None),
        ("cudart", ("lib64/libcudart.so",), "; it has no libcuda.so either, which is a finding of its own"),
        ("cuda", ("lib64/libcudart.so", "lib64/stubs/libcuda.so"), "and not in /usr/local"),
    ],
)
def test_the_tree_behind_a_wrapper_is_a_way_out_where_it_has_the_library(
    library: str, link_names: tuple[str, ...], ending: str | None
) -> None:
    home = "/usr/local/cuda-13.0"
    wrapped = sglang(home=home, cuda_home=known("/usr/local"), nvcc=known("/usr/local/bin/nvcc"))
    case = Case(
        snapshot(
            toolkits=(toolkit(home, layout="system", link_names=link_names),),
            consumers=(wrapped,),
            link_probes=(probe("/usr/local", ("cudart", "cuda"), consumers=("sglang",)),),
        )
    )
    [failure] = link_failures(case, library)
    assert isinstance(failure, LinkFailure)
    ways = take_real_home(failure)
    assert [way.text.endswith(ending or "") for way in ways] == ([True] if ending else [])


def test_what_is_installed_for_a_toolkit_of_links_goes_to_its_source() -> None:
    source = toolkit()
    view = toolkit("/home/me/current", layout="view")
    nvcc = replace(view.parts[0], links_to=f"{CU13}/bin/nvcc")
    view = replace(view, parts=(nvcc, *view.parts[1:]))
    case = Case(snapshot(toolkits=(view, source)))
    assert source_of(case, view) is source
    assert source_of(case, source) is source
    assert source_of(Case(snapshot(toolkits=(view,))), view) is view


def test_misfit_names_the_gpu_before_torch() -> None:
    case = Case(snapshot(driver=driver(gpus=[gpu(cc="12.1")]), torch=torch_build()))
    assert misfit(case, toolkit(release="12.8")) == "it cannot compile for compute capability 12.1"
    assert misfit(case, toolkit(release="12.9")) == "it is of CUDA 12, while torch was built with CUDA 13.0"
    assert misfit(case, toolkit(release="13.5")) == ""

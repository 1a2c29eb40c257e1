"""From a consumer's compiler to the tree that really compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.snapshot.consumers.matching import homes_of, match_consumers
from sm120kit.snapshot.types.toolkits import Toolkit
from tests.builders import toolkit
from tests.snapshot.image import SITE, Image

SYSTEM = toolkit("/usr/local/cuda-13.0", real_home="/usr/local/cuda-13.0", aliases=("/usr/local/cuda",))
DISTRO = toolkit("/usr", real_home="/usr")
VIEW = toolkit("/data/current", real_home="/data/toolkits/4f1c")


@pytest.fixture
def image(tmp_path: Path) -> Image:
    """FlashInfer beside /usr/local/cuda-13.0 and its usual link."""
    made = Image(tmp_path)
    made.install("flashinfer-python", "0.7.2")
    made.program("/usr/bin/which")
    made.program("/usr/local/cuda-13.0/bin/nvcc")
    made.link("/usr/local/cuda", "cuda-13.0")
    return made


def taken(image: Image, variables: dict[str, str], toolkits: tuple[Toolkit, ...], name: str = "flashinfer") -> str:
    """``toolkit`` of a consumer after matching."""
    context = image.context(variables)
    consumers = match_consumers(context, tuple(image.consumers(variables).values()), toolkits)
    return next(consumer.toolkit for consumer in consumers if consumer.name == name)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"CUDA_HOME": "/usr/local/cuda-13.0"}, SYSTEM.home),
        ({"CUDA_HOME": "/usr/local/cuda-13.0/"}, SYSTEM.home),
        ({"CUDA_HOME": "/usr/local/cuda"}, SYSTEM.home),
        ({"CUDA_HOME": "/opt/link"}, SYSTEM.home),
        ({"PATH": "/usr/bin:/usr/local/cuda/bin"}, SYSTEM.home),
        ({}, SYSTEM.home),
        ({"CUDA_HOME": "/nowhere"}, ""),
        ({"CUDA_HOME": "/data/current"}, VIEW.home),
        ({"CUDA_HOME": "/nowhere", "FLASHINFER_NVCC": "/usr/local/cuda/bin/nvcc"}, SYSTEM.home),
        ({"CUDA_PATH": ""}, ""),
    ],
)
def test_by_every_name_of_a_tree(image: Image, variables: dict[str, str], expected: str) -> None:
    image.link("/opt/link", "/usr/local/cuda")
    image.program("/data/toolkits/4f1c/bin/nvcc")
    image.link("/data/current", "toolkits/4f1c")
    assert taken(image, variables, (SYSTEM, VIEW)) == expected


def test_a_wrapper_compiles_with_the_tree_it_starts(image: Image) -> None:
    image.program("/usr/local/bin/nvcc", '#!/bin/sh\nexec /usr/local/cuda-13.0/bin/nvcc "$@"\n')
    assert taken(image, {}, (toolkit("/usr/local", real_home="/usr/local"), SYSTEM)) == SYSTEM.home


def test_debians_wrapper_belongs_to_usr(image: Image) -> None:
    """/usr/bin/nvcc of nvidia-cuda-toolkit starts /usr/lib/nvidia-cuda-toolkit/bin/nvcc; the tree is /usr."""
    image.program("/usr/bin/nvcc", '#!/bin/sh\nexec /usr/lib/nvidia-cuda-toolkit/bin/nvcc "$@"\n')
    assert taken(image, {"PATH": "/usr/bin"}, (SYSTEM, DISTRO)) == DISTRO.home


def test_a_link_to_nvcc_stays_where_it_is_called(image: Image) -> None:
    """nvcc looks for its profile and headers beside the link."""
    image.link("/opt/half/bin/nvcc", "/usr/local/cuda-13.0/bin/nvcc")
    half = toolkit("/opt/half", real_home="/opt/half")
    assert taken(image, {"CUDA_HOME": "/opt/half"}, (SYSTEM, half)) == half.home
    assert taken(image, {"CUDA_HOME": "/opt/half"}, (SYSTEM,)) == SYSTEM.home


def test_a_runtime_without_nvcc_is_still_the_tree(image: Image) -> None:
    runtime = toolkit(f"{SITE}/nvidia/cu13", drop=("nvcc",))
    image.folder(f"{SITE}/nvidia/cu13/include")
    assert taken(image, {"CUDA_HOME": f"{SITE}/nvidia/cu13"}, (SYSTEM, runtime)) == runtime.home


def test_triton_takes_a_toolkit_only_by_its_variable(image: Image) -> None:
    image.install("triton", "3.8.0")
    image.program(f"{SITE}/triton/backends/nvidia/bin/ptxas-blackwell")
    image.program("/usr/local/cuda-13.0/bin/ptxas")
    assert taken(image, {}, (SYSTEM,), "triton") == ""
    variables = {"TRITON_PTXAS_BLACKWELL_PATH": "/usr/local/cuda/bin/ptxas"}
    assert taken(image, variables, (SYSTEM,), "triton") == SYSTEM.home


def test_homes_to_read_with_how_they_were_found(image: Image) -> None:
    image.install("triton", "3.8.0")
    image.program(f"{SITE}/triton/backends/nvidia/bin/ptxas-blackwell")
    variables = {"CUDA_HOME": "/opt/cuda", "FLASHINFER_NVCC": "/opt/shim/bin/nvcc"}
    image.program("/opt/shim/bin/nvcc", '#!/bin/sh\nexec ccache /opt/other/bin/nvcc "$@"\n')
    consumers = tuple(image.consumers(variables).values())
    assert homes_of(image.context(variables), consumers) == {"/opt/cuda": "CUDA_HOME", "/opt/other": "FLASHINFER_NVCC"}


def test_a_wrapper_below_cuda_home_is_no_home_of_its_own(image: Image) -> None:
    image.program("/usr/local/bin/nvcc", '#!/bin/sh\nexec /usr/local/cuda-13.0/bin/nvcc "$@"\n')
    variables = {"CUDA_HOME": "/usr/local"}
    homes = homes_of(image.context(variables), tuple(image.consumers(variables).values()))
    assert homes == {"/usr/local": "CUDA_HOME"}
    empty = {"CUDA_PATH": ""}
    assert homes_of(image.context(empty), tuple(image.consumers(empty).values())) == {}

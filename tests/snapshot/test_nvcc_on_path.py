"""Every nvcc on PATH, and what stands behind a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.snapshot.nvcc_on_path import programs_behind, read_nvcc_on_path
from sm120kit.snapshot.types.toolkits import Nvcc
from tests.snapshot.image import VENV, Image


def test_every_kind_in_the_order_of_path(tmp_path: Path) -> None:
    image = Image(tmp_path)
    image.link("/venv/bin/nvcc", "/gone/bin/nvcc")
    image.program("/usr/local/bin/nvcc", '#!/bin/sh\nexec /usr/local/cuda-13.0/bin/nvcc "$@"\n')
    image.file("/opt/old/bin/nvcc", "x", mode=0o644)
    image.program("/usr/local/cuda-13.0/bin/nvcc")
    image.link("/usr/local/cuda", "cuda-13.0")
    path = "/venv/bin:/nowhere::relative:/usr/local/bin:/opt/old/bin/:/usr/local/cuda/bin:/usr/local/bin"
    assert read_nvcc_on_path(image.context({"PATH": path})) == (
        Nvcc("/venv/bin/nvcc", "/gone/bin/nvcc", "dangling"),
        Nvcc("/usr/local/bin/nvcc", "/usr/local/bin/nvcc", "script", "/usr/local/cuda-13.0/bin/nvcc"),
        Nvcc("/opt/old/bin/nvcc", "/opt/old/bin/nvcc", "not-executable"),
        Nvcc("/usr/local/cuda/bin/nvcc", "/usr/local/cuda-13.0/bin/nvcc", "binary"),
    )


def test_nothing_on_path(tmp_path: Path) -> None:
    assert read_nvcc_on_path(Image(tmp_path).context()) == ()


def test_a_circle_of_links_is_dangling(tmp_path: Path) -> None:
    image = Image(tmp_path)
    image.link("/usr/bin/nvcc", "/usr/local/bin/nvcc")
    image.link("/usr/local/bin/nvcc", "/usr/bin/nvcc")
    assert [nvcc.kind for nvcc in read_nvcc_on_path(image.context())] == ["dangling", "dangling"]


def test_without_system_toolkits_only_the_targets_own(tmp_path: Path) -> None:
    image = Image(tmp_path)
    image.program("/usr/local/bin/nvcc")
    image.program(f"{VENV}/bin/nvcc")
    found = read_nvcc_on_path(image.context(system_toolkits=False))
    assert [nvcc.path for nvcc in found] == [f"{VENV}/bin/nvcc"]


@pytest.mark.parametrize(
    ("scripts", "chain"),
    [
        ({}, ("/usr/local/bin/nvcc",)),
        (
            {"/usr/local/bin/nvcc": "/opt/shim/nvcc", "/opt/shim/nvcc": "/opt/cuda/bin/nvcc"},
            ("/usr/local/bin/nvcc", "/opt/shim/nvcc", "/opt/cuda/bin/nvcc"),
        ),
        (
            {"/usr/local/bin/nvcc": "/opt/shim/nvcc", "/opt/shim/nvcc": "/usr/local/bin/nvcc"},
            ("/usr/local/bin/nvcc", "/opt/shim/nvcc"),
        ),
    ],
)
def test_scripts_are_followed_and_circles_end(tmp_path: Path, scripts: dict[str, str], chain: tuple[str, ...]) -> None:
    image = Image(tmp_path)
    for script, target in scripts.items():
        image.program(script, f'#!/bin/sh\nexec {target} "$@"\n')
    assert programs_behind(image.context(), "/usr/local/bin/nvcc") == chain

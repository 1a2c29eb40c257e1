"""torch/version.py read as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.torch_build import read_torch_build
from tests.snapshot.image import SITE, Image

VERSION_PY = f"{SITE}/torch/version.py"


@pytest.mark.parametrize(
    ("text", "version", "cuda"),
    [
        # torch 2.13.0+cpu from PyPI, whole.
        (
            "from typing import Optional\n\n"
            "__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']\n"
            "__version__ = '2.13.0+cpu'\ndebug = False\ncuda: Optional[str] = None\ngit_version = 'f0'\n"
            "hip: Optional[str] = None\nrocm: Optional[str] = None\nxpu: Optional[str] = None\n",
            "2.13.0+cpu",
            "",
        ),
        ("__version__ = '2.14.1+cu130'\ncuda: Optional[str] = '13.0'\n", "2.14.1+cu130", "13.0"),
        ('__version__ = "2.9.1"\ncuda = "12.8"\n', "2.9.1", "12.8"),
        ("__version__ = '2.8.0a0+git1234'\ncuda = None\n", "2.8.0a0+git1234", ""),
    ],
)
def test_reads_version_and_cuda(tmp_path: Path, text: str, version: str, cuda: str) -> None:
    image = Image(tmp_path)
    image.file(VERSION_PY, text)
    known = read_torch_build(image.context())
    assert isinstance(known, Known)
    assert (known.value.version, known.value.cuda, known.value.path) == (version, cuda, VERSION_PY)
    assert known.source.where == VERSION_PY
    assert text.splitlines()[known.source.line - 1].startswith("cuda")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "does not say which version"),
        (b"\xff\xfe\x00__version", "does not say which version"),
        (b"__version__ = '2.13.0'\n", "does not say which CUDA release"),
        (b"__version__ = '2.13.0'\ncuda: Optional[str] = Nonesuch\n", "does not say which CUDA release"),
    ],
)
def test_what_cannot_be_told_is_unknown(tmp_path: Path, content: bytes, says: str) -> None:
    image = Image(tmp_path)
    image.file(VERSION_PY, content)
    unknown = read_torch_build(image.context())
    assert isinstance(unknown, Unknown)
    assert says in unknown.reason
    assert VERSION_PY in unknown.reason


def test_no_torch(tmp_path: Path) -> None:
    unknown = read_torch_build(Image(tmp_path).context())
    assert isinstance(unknown, Unknown)
    assert "not installed" in unknown.reason


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    image = Image(tmp_path)
    image.folder(VERSION_PY)
    unknown = read_torch_build(image.context())
    assert isinstance(unknown, Unknown)
    assert f"{VERSION_PY} cannot be read" in unknown.reason

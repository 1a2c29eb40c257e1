"""A libnvidia-ml.so.1 for the tests of this folder, built from fake_nvml.c."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.snapshot.nvml import build_nvml


@pytest.fixture(scope="session")
def built_nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, built once."""
    return build_nvml(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def nvml_folder(built_nvml: Path, tmp_path: Path) -> Path:
    """A folder with the library in it; what it answers is written to the file ``state`` there."""
    folder = tmp_path / "driver"
    folder.mkdir()
    shutil.copy(built_nvml, folder)
    return folder

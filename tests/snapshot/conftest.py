"""A libnvidia-ml.so.1 for the tests of this folder, built from fake_nvml.c."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.programs import require_program

SOURCE = Path(__file__).with_name("fake_nvml.c")


@pytest.fixture(scope="session")
def built_nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, built once."""
    require_program("gcc")
    library = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    options = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wl,-soname,libnvidia-ml.so.1"]
    subprocess.run(["gcc", *options, "-o", str(library), str(SOURCE), "-ldl"], check=True)
    return library


@pytest.fixture
def nvml_folder(built_nvml: Path, tmp_path: Path) -> Path:
    """A folder with the library in it; what it answers is written to the file ``state`` there."""
    folder = tmp_path / "driver"
    folder.mkdir()
    shutil.copy(built_nvml, folder)
    return folder

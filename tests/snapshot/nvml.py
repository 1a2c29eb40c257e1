"""Builds the libnvidia-ml.so.1 of the tests from fake_nvml.c."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.programs import require_program

SOURCE = Path(__file__).with_name("fake_nvml.c")


def build_nvml(folder: Path) -> Path:
    """The library, made in ``folder``; a file named ``state`` beside it tells what it answers."""
    require_program("gcc")
    library = folder / "libnvidia-ml.so.1"
    options = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wl,-soname,libnvidia-ml.so.1"]
    subprocess.run(["gcc", *options, "-o", str(library), str(SOURCE), "-ldl"], check=True)
    return library

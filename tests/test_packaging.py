"""What the wheel will hold, judged from pyproject.toml; ``.ci/run`` builds it and compares file by file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def setuptools_table() -> dict[str, Any]:
    table: dict[str, Any] = msgspec.toml.decode((ROOT / "pyproject.toml").read_bytes())["tool"]["setuptools"]
    return table


def test_every_package_of_the_tree_is_named(setuptools_table: dict[str, Any]) -> None:
    there = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "sm120kit").rglob("__init__.py")}
    named = {name for name in setuptools_table["packages"] if not name.startswith("sm120kit._data.")}
    assert named == there


def test_every_folder_with_python_files_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "sm120kit").rglob("*.py")}
    assert not {folder for folder in folders if not (folder / "__init__.py").is_file()}


def test_every_other_file_inside_the_package_is_covered_by_a_glob(setuptools_table: dict[str, Any]) -> None:
    others = {
        path
        for path in (ROOT / "sm120kit").rglob("*")
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    }
    covered = {
        path
        for name, patterns in setuptools_table["package-data"].items()
        for pattern in patterns
        for path in ROOT.joinpath(*name.split(".")).glob(pattern)
    }
    assert not others - covered


@pytest.mark.parametrize("tree", ["checks", "templates"])
def test_every_data_file_is_covered_by_a_glob(tree: str, setuptools_table: dict[str, Any]) -> None:
    folder = ROOT / tree
    files = {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    name = f"sm120kit._data.{tree}"
    if not files:
        assert name not in setuptools_table["packages"]
        return
    assert setuptools_table["package-dir"][name] == tree
    globs = setuptools_table["package-data"][name]
    assert files == {path for pattern in globs for path in folder.glob(pattern) if "__pycache__" not in path.parts}

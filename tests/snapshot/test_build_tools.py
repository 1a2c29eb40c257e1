"""ninja and Python.h, by PATH and by name."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from sm120kit.snapshot.build_tools import read_build_tools
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.types.packages import Interpreter
from tests.snapshot.targets import context, program, value


def interpreter(tmp_path: Path) -> Fact[Interpreter]:
    made = Interpreter("/x/python", "3.12.1", "/x", "/x", (), f"{tmp_path}/include", False, "", f"{tmp_path}/venv/bin")
    return Known(made, Source("command", "python"))


def test_on_path(tmp_path: Path) -> None:
    program(tmp_path / "bin/ninja")
    found = read_build_tools(context(environment={"PATH": f"{tmp_path}/bin"}), interpreter(tmp_path))
    assert (value(found.ninja), found.own_ninja) == (f"{tmp_path}/bin/ninja", "")


def test_beside_the_interpreter_alone(tmp_path: Path) -> None:
    program(tmp_path / "venv/bin/ninja")
    found = read_build_tools(context(environment={"PATH": f"{tmp_path}/bin"}), interpreter(tmp_path))
    assert isinstance(found.ninja, Unknown)
    assert found.own_ninja == f"{tmp_path}/venv/bin/ninja"


def test_in_a_folder_of_pip_target(tmp_path: Path) -> None:
    program(tmp_path / "site/bin/ninja")
    made = context(environment={"PATH": "/none"}, site_packages=[tmp_path / "site"])
    assert read_build_tools(made, Unknown("no interpreter")).own_ninja == f"{tmp_path}/site/bin/ninja"


def test_pythons_header(tmp_path: Path) -> None:
    made, python = context(environment={"PATH": "/none"}), interpreter(tmp_path)
    assert value(read_build_tools(made, python).python_header) == ""
    (tmp_path / "include").mkdir()
    (tmp_path / "include/Python.h").touch()
    assert value(read_build_tools(made, python).python_header) == f"{tmp_path}/include/Python.h"
    assert isinstance(read_build_tools(made, Unknown("none")).python_header, Unknown)
    assert isinstance(python, Known)
    nameless = Known(replace(python.value, include_dir=""), python.source)
    assert isinstance(read_build_tools(made, nameless).python_header, Unknown)

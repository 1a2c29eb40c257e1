"""A deferred module is loaded by its first use, and by nothing before."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from sm120kit.cli.deferred import deferred, withheld

NAME = "sm120kit_test_costly"


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that has a line for each time the costly module was loaded."""
    log = tmp_path / "loads"
    log.touch()
    (tmp_path / f"{NAME}.py").write_text(
        f"with open({str(log)!r}, 'a') as log:\n    log.write('x')\nVALUE = object()\n"
    )
    (tmp_path / f"{NAME}_user.py").write_text(f"import {NAME} as costly\ndef use(): return costly.VALUE\n")
    (tmp_path / f"{NAME}_taker.py").write_text(f"from {NAME} import VALUE\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield log
    for name in [name for name in sys.modules if name.startswith(NAME)]:
        del sys.modules[name]


def test_who_imports_it_gets_it_when_it_is_used(loads: Path) -> None:
    with deferred(NAME):
        user = import_module(f"{NAME}_user")
    assert (loads.read_text(), NAME in sys.modules) == ("", False)
    assert user.use() is user.use() is import_module(NAME).VALUE
    assert loads.read_text() == "x"


def test_a_name_taken_out_of_it_loads_it_at_once(loads: Path) -> None:
    with deferred(NAME):
        taken = import_module(f"{NAME}_taker").VALUE
        assert loads.read_text() == "x"
    assert taken is sys.modules[NAME].VALUE


def test_a_module_that_is_there_is_left_alone(loads: Path) -> None:
    module = import_module(NAME)
    with deferred(NAME):
        assert import_module(NAME) is module
    assert (sys.modules[NAME], loads.read_text()) == (module, "x")


def test_what_it_does_not_have_is_an_attribute_error(loads: Path) -> None:
    with deferred(NAME):
        user = import_module(f"{NAME}_user")
    with pytest.raises(AttributeError, match="missing"):
        _ = user.costly.missing
    assert loads.read_text() == "x"


def test_a_withheld_module_cannot_be_imported_inside_the_block(loads: Path) -> None:
    with withheld(NAME), pytest.raises(ImportError):
        import_module(f"{NAME}_user")
    module = import_module(NAME)
    with withheld(NAME):
        assert import_module(NAME) is module
    assert (sys.modules[NAME], loads.read_text()) == (module, "x")

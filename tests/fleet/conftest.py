"""A place for state of its own for every test, a target to launch on, and a driver to ask."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sm120kit.fleet.order.order import Order, TargetOrder
from sm120kit.fleet.preparation.prepare import Prepared, prepare
from tests.fleet.target import make_environment, make_model
from tests.snapshot.nvml import build_nvml

Prepare = Callable[..., Prepared]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


@pytest.fixture(scope="session")
def built_nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, built once."""
    return build_nvml(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """61 GiB of a model of 32 billion parameters, as far as headers tell."""
    return make_model(tmp_path / "models" / "Qwen3-32B")


@pytest.fixture
def prepared(built_nvml: Path, tmp_path: Path, model: Path) -> Prepare:
    """Prepares a launch on eight GPUs, of which ``state`` tells what differs (see fake_nvml.c)."""
    driver = tmp_path / "driver"
    driver.mkdir()
    shutil.copy(built_nvml, driver)
    python = make_environment(tmp_path / "venv")

    def made(*arguments: str, state: str = "", **asked: object) -> Prepared:
        (driver / "state").write_text(state)
        order = Order(
            **{"model": str(model), "arguments": arguments, "target": TargetOrder(python=str(python)), **asked}  # type: ignore[arg-type]
        )
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LD_LIBRARY_PATH": str(driver)}
        return prepare(order, environment)

    return made

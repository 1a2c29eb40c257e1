"""Fixing in tests: one target with a tiny toolkit, one data folder, and the commands over them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Answer, Command
from tests.pictures import Picture, picture
from tests.programs import require_program
from tests.stray_writes import no_stray_writes
from tests.tiny_toolkit import Tiny, make_tiny_toolkit


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    require_program("gcc", "c++", "as")
    return make_tiny_toolkit(tmp_path)


class Fix:
    """The commands with one data folder and one target."""

    def __init__(self, sm120kit: Command, tiny: Tiny, data_dir: Path) -> None:
        self.sm120kit = sm120kit
        self.tiny = tiny
        self.data_dir = data_dir
        self.target = ["--no-system-toolkits", "--site-packages", str(tiny.site_packages)]
        self.target += ["--cuda-home", str(tiny.cuda_home)]

    def __call__(self, *arguments: str) -> Answer:
        return self.run("fix", *arguments, *self.target)

    def run(self, *arguments: str) -> Answer:
        return self.sm120kit(*arguments, "--data-dir", str(self.data_dir))

    def json(self, *arguments: str) -> dict[str, Any]:
        answer = self(*arguments, "--json")
        assert answer.code in (0, 1), answer.err
        data: dict[str, Any] = json.loads(answer.out)
        return data

    def applied(self) -> dict[str, Any]:
        data = self.json("--apply")
        assert data["applied"], data
        return data

    def written(self) -> Picture:
        """What repairs leave, the journal and the lock aside."""
        return {
            path: state for path, state in picture(self.data_dir).items() if not path.startswith(("journal", "lock"))
        }


@pytest.fixture
def fix(sm120kit: Command, tiny: Tiny, tmp_path: Path) -> Fix:
    return Fix(sm120kit, tiny, tmp_path / "data")


@pytest.fixture(autouse=True)
def _no_stray_writes() -> Iterator[None]:
    with no_stray_writes():
        yield


EMPTY = {"targets", "toolkits"}

"""A small plan over a folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sm120kit.data_dir import DataDir
from sm120kit.repair.paths import read_state
from sm120kit.repair.types import (
    PLAN_SCHEMA,
    Action,
    MakeDirectory,
    MakeLink,
    Plan,
    Step,
    SwitchLink,
    WriteFile,
)
from tests.stray_writes import no_stray_writes


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


@pytest.fixture(autouse=True)
def _no_stray_writes() -> Iterator[None]:
    with no_stray_writes():
        yield


@pytest.fixture
def data_dir(tmp_path: Path) -> DataDir:
    return DataDir(str(tmp_path / "data"))


@pytest.fixture
def workshop(tmp_path: Path) -> Path:
    """A folder with a live link and a script, as a first repair would have left them."""
    folder = tmp_path / "workshop"
    folder.mkdir()
    (folder / "old-view").mkdir()
    (folder / "current").symlink_to("old-view")
    (folder / "env.sh").write_text("old script\n")
    (folder / "env.sh").chmod(0o640)
    return folder


@pytest.fixture
def make_plan(data_dir: DataDir) -> Callable[[Path], Plan]:
    """Builds a plan of 17 actions of every kind beside and over what stands in the folder."""

    def make(folder: Path) -> Plan:
        contents = [b"stub", b"new script\n"]
        digests = [hashlib.sha256(content).hexdigest() for content in contents]
        view = folder / "new-view"
        actions: list[Action] = [MakeDirectory(str(view)), MakeDirectory(str(view / "bin"))]
        actions += [MakeLink(str(view / "bin" / f"tool{index}"), f"/elsewhere/tool{index}") for index in range(8)]
        actions += [
            MakeDirectory(str(view / "lib64")),
            WriteFile(str(view / "lib64" / "libcuda.so"), digests[0], 0o755),
        ]
        actions += [MakeLink(str(view / "lib"), "lib64"), MakeDirectory(str(folder / "target"))]
        switch_from = len(actions)
        actions += [
            WriteFile(str(folder / "env.sh"), digests[1]),
            SwitchLink(str(folder / "current"), "new-view"),
            SwitchLink(str(folder / "target" / "first"), "new-view"),
        ]
        return Plan(
            schema=PLAN_SCHEMA,
            tool_version="0",
            target="a workshop",
            target_key="workshop",
            data_dir=data_dir.path,
            steps=tuple(Step(action, read_state(action.path), "for the test") for action in actions),
            switch_from=switch_from,
            contents=dict(zip(digests, contents, strict=True)),
        )

    return make

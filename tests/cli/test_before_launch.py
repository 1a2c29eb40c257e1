"""The copy of the model before servers start, as the command shows it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from msgspec.structs import replace

from sm120kit.cli.before_launch import stage
from sm120kit.cli.interrupts import interruptible
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.make_order import make_order
from sm120kit.fleet.preparation.prepare import Prepared, prepare
from tests.planning import QWEN36_27B, write_config

SIZE = 40 << 20


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    """A launch of servers that load their model from a folder ``ram``."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    model = tmp_path / "model"
    write_config(model, QWEN36_27B)
    (model / "model.safetensors").write_bytes(b"x" * SIZE)
    asked = {"model": str(model), "rehearse": True, "stage": str(tmp_path / "ram"), "gpu": "rtx-pro-6000"}
    rehearsed = prepare(make_order(asked))
    return replace(rehearsed, spec=replace(rehearsed.spec, rehearsal=None))


def test_the_copy_is_where_the_servers_look_and_its_progress_is_told(
    prepared: Prepared, capsys: pytest.CaptureFixture[str]
) -> None:
    stage(prepared)
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("sm120kit: copying the model: 0.0 of 0.0 GiB")
    assert told[-1] == f"sm120kit: the model lies in {prepared.spec.model}"
    assert (Path(prepared.spec.model) / "model.safetensors").stat().st_size == SIZE


def test_a_rehearsal_copies_nothing(prepared: Prepared, tmp_path: Path) -> None:
    order = replace(prepared.order, rehearse=True)
    stage(prepare(order))
    assert not (tmp_path / "ram").exists()


def test_ended_in_the_middle_nothing_of_it_is_left(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(_copying: object, _done: int, _total: int) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("sm120kit.cli.before_launch._Copying.__call__", ends)
    with interruptible(), pytest.raises(KeyboardInterrupt):
        stage(prepared)
    assert not [path for path in (tmp_path / "ram").rglob("*") if path.stat().st_size]


def test_what_cannot_be_copied_is_said(prepared: Prepared, tmp_path: Path) -> None:
    (tmp_path / "ram").write_text("a file")
    with pytest.raises(Sm120kitError, match="could not be copied"):
        stage(prepared)

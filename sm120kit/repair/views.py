"""All toolkit views in a data folder, whom they serve, and which of them nobody can return to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from sm120kit.data_dir import DataDir
from sm120kit.repair.journal import Entry, entries
from sm120kit.repair.transaction import undo
from sm120kit.repair.types import ViewLine
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.live_view import read_manifest

_REMOVING = ".removing-"


def list_views(data_dir: DataDir) -> tuple[ViewLine, ...]:
    """Every view, live ones first."""
    history = entries(data_dir)
    live = _live(data_dir)
    lines = [_line(f"{data_dir.toolkits}/{name}", live, history) for name in _names(data_dir.toolkits)]
    return tuple(sorted(lines, key=lambda line: (not line.live_for, line.path)))


def prune(data_dir: DataDir) -> tuple[ViewLine, ...]:
    """Remove the views that nothing would miss; the caller holds the lock and has recovered.

    Repairs of a target that is gone are taken back, newest first, which removes their views.

    Raises:
        Refused: one of their paths was changed since.
    """
    going = tuple(line for line in list_views(data_dir) if line.can_go)
    for entry in reversed(entries(data_dir)):
        if entry.status == "applied" and any(entry.record.view == line.path for line in going if line.target_gone):
            undo(entry)
    for line in going:
        if not os.path.lexists(line.path):
            continue
        # Out of sight in one rename: a cut-off removal leaves nothing that looks like a view.
        aside = f"{data_dir.toolkits}/{_REMOVING}{os.path.basename(line.path)}"
        os.rename(line.path, aside)
        shutil.rmtree(aside)
    for name in os.listdir(data_dir.toolkits):
        if name.startswith(_REMOVING):
            shutil.rmtree(f"{data_dir.toolkits}/{name}")
    return going


def _line(path: str, live: dict[str, list[str]], history: Sequence[Entry]) -> ViewLine:
    manifest = read_manifest(path)
    target = manifest.value.target if isinstance(manifest, Known) else ""
    target_gone = bool(target) and not os.path.isdir(target)
    live_for = tuple(live.get(os.path.realpath(path), ()))
    records = tuple(
        entry.record.number for entry in history if entry.status != "taken-back" and entry.record.view == path
    )
    can_go = "" if live_for or records else "nothing leads to it, and no repair can return to it"
    return ViewLine(
        path=path,
        release=manifest.value.release if isinstance(manifest, Known) else "",
        target=target,
        target_gone=target_gone,
        live_for=live_for,
        records=records,
        parts=manifest.value.parts if isinstance(manifest, Known) else {},
        can_go="its target is gone" if target_gone else can_go,
    )


def _live(data_dir: DataDir) -> dict[str, list[str]]:
    live: dict[str, list[str]] = {}
    for key in _names(f"{data_dir.path}/targets"):
        live.setdefault(os.path.realpath(data_dir.current(key)), []).append(key)
    return live


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return []

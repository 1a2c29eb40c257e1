"""Whether the RAM disk has room for the model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from sm120kit.diagnosis.findings import at
from sm120kit.diagnosis.types import Finding, Manual
from sm120kit.fleet.preflight.findings import stops, warns
from sm120kit.fleet.preflight.room import room_for
from sm120kit.fleet.preflight.types import Answer
from sm120kit.fleet.preparation.prepare import Prepared
from sm120kit.fleet.preparation.staging import SPARE, missing_bytes
from sm120kit.snapshot.mounts import file_system_of

_CHECK = "launch.stage-no-room"
_GIB = 1 << 30
_IN_MEMORY = ("tmpfs", "ramfs")


def ask_stage(prepared: Prepared, _environment: Mapping[str, str]) -> Answer:
    """Sizes of the model's files against what is free there."""
    stage, source = prepared.order.stage, prepared.place.folder
    if not stage:
        return Answer("stage", "the model is read where it lies")
    need = missing_bytes(stage, source)
    if not need:
        return Answer("stage", f"a copy that still fits lies in {stage}")
    return Answer("stage", f"{need / _GIB:.2f} GiB to copy to {stage}", tuple(_findings(stage, source, need)))


def _mountinfo() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
    except OSError:
        return ""


def _findings(stage: str, source: str, need: int) -> Iterator[Finding]:
    room = room_for(stage)
    kind = file_system_of(_mountinfo(), os.path.realpath(room.folder))
    if not room.writable:
        yield stops(
            _CHECK,
            stage,
            f"nothing can be copied to {stage}: {room.folder} cannot be written by this user",
            [at("not writable, or no folder", room.folder)],
            [Manual("Name a folder on a RAM disk that can be written, such as /dev/shm/models")],
        )
    elif need + SPARE > room.free:
        yield stops(
            _CHECK,
            stage,
            f"the model has {need / _GIB:.2f} GiB, and {room.folder} has room for {room.free / _GIB:.2f}",
            [at(f"{need / _GIB:.2f} GiB", source), at(f"{room.free / _GIB:.2f} GiB free", room.folder)],
            [
                Manual("Give the RAM disk more (it is memory)", (f"mount -o remount,size=N {room.folder}",)),
                Manual("Leave --stage out"),
            ],
        )
    elif kind and kind not in _IN_MEMORY:
        yield warns(
            _CHECK,
            stage,
            f"{stage} lies on {kind}, which is no RAM disk: the copy is read no faster than the model itself",
            [at(kind, room.folder)],
            [Manual("Name a folder on a tmpfs, such as /dev/shm/models, or leave --stage out")],
        )

"""The write-ahead record of every applied plan: written whole and synced before the first action."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from sm120kit.data_dir import DataDir
from sm120kit.errors import OWN_FAULT, Sm120kitError
from sm120kit.repair.paths import sync_directory, write_file
from sm120kit.repair.types import RECORD_SCHEMA, FileState, Plan, Record, Status


@dataclass(frozen=True)
class Entry:
    """One record with its status and the folder that holds it."""

    record: Record
    status: Status
    folder: str

    def content(self, sha256: str) -> bytes:
        """Bytes kept under their digest.

        Raises:
            Sm120kitError: the journal was damaged.
        """
        path = f"{self.folder}/contents/{sha256}"
        try:
            with open(path, "rb") as file:  # noqa: PTH123
                return file.read()
        except OSError as error:
            raise _damaged(path, error.strerror or str(error)) from error

    def set_status(self, status: Status) -> Entry:
        """Write the new status in one synced rename, and return the entry with it."""
        write_file(f"{self.folder}/status", status.encode() + b"\n", 0o644, "status")
        sync_directory(self.folder)
        return Entry(self.record, status, self.folder)

    @property
    def mark(self) -> str:
        """What the temporary files of this record are called."""
        return f"{self.record.number:04d}"


def begin(data_dir: DataDir, plan: Plan, *, started_at: str, command: str) -> Entry:
    """Record ``plan`` as being applied: all of it synced, visible in one rename.

    Raises:
        OSError: the data folder cannot be written.
    """
    number = max((entry.record.number for entry in entries(data_dir)), default=0) + 1
    record = Record(
        schema=RECORD_SCHEMA,
        tool_version=plan.tool_version,
        number=number,
        started_at=started_at,
        command=command,
        target=plan.target,
        target_key=plan.target_key,
        steps=plan.steps,
        cures=plan.cures,
        view=plan.view,
        gpu=plan.named_by.gpu,
    )
    staging, folder = f"{data_dir.journal}/.new", f"{data_dir.journal}/{number:04d}"
    shutil.rmtree(staging, ignore_errors=True)
    os.makedirs(f"{staging}/contents")
    contents = {**plan.contents, **_replaced_contents(plan)}
    for sha256, content in contents.items():
        write_file(f"{staging}/contents/{sha256}", content, 0o600, "new")
    sync_directory(f"{staging}/contents")
    write_file(f"{staging}/record.json", msgspec.json.encode(record), 0o644, "new")
    write_file(f"{staging}/status", b"applying\n", 0o644, "new")
    sync_directory(staging)
    os.rename(staging, folder)
    sync_directory(data_dir.journal)
    return Entry(record, "applying", folder)


def entries(data_dir: DataDir) -> list[Entry]:
    """All records, oldest first.

    Raises:
        Sm120kitError: a record is damaged or was written by a newer version.
    """
    return list(_read_all(data_dir))


def is_live(entry: Entry, data_dir: DataDir) -> bool:
    """Whether the ``current`` of its target leads to the toolkit of links that this repair made."""
    view = entry.record.view
    return bool(view) and os.path.realpath(data_dir.current(entry.record.target_key)) == os.path.realpath(view)


def live_repair(data_dir: DataDir, target_key: str) -> Entry | None:
    """The newest repair that made what is live for a target; ``None`` where nothing is."""
    applied = (each for each in reversed(entries(data_dir)) if each.status == "applied")
    return next((each for each in applied if each.record.target_key == target_key and is_live(each, data_dir)), None)


def cut_off(data_dir: DataDir, at_work: int) -> list[str]:
    """Sentences about repairs that a killed run left half done; ``at_work`` is the process that holds the lock now."""
    return [
        f"repair {entry.record.number} of {entry.record.target} was cut off: sm120kit undo takes back what was done"
        for entry in entries(data_dir)
        if entry.status in ("applying", "taking-back") and not at_work
    ]


def unwritten(data_dir: DataDir) -> list[str]:
    """Sentences about folders of records in which nothing was ever written, so that nothing is to be taken back."""
    return [
        f"{folder} is empty: a run ended before it wrote anything, and changed nothing"
        for folder in _folders(data_dir)
        if not os.listdir(folder)
    ]


def discard_unwritten(data_dir: DataDir) -> list[str]:
    """Remove such folders; the caller holds the lock. Returns the sentences about them."""
    sentences = unwritten(data_dir)
    for folder in _folders(data_dir) if sentences else ():
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # refuses what holds anything
    return sentences


def _folders(data_dir: DataDir) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(data_dir.journal) if re.fullmatch(r"\d{4,}", name))
    except FileNotFoundError:
        return []
    paths = [f"{data_dir.journal}/{name}" for name in names]
    return [path for path in paths if os.path.isdir(path)]


def _read_all(data_dir: DataDir) -> Iterator[Entry]:
    for folder in _folders(data_dir):
        if not os.listdir(folder):
            continue
        try:
            with open(f"{folder}/record.json", "rb") as file:  # noqa: PTH123
                raw = file.read()
            with open(f"{folder}/status", encoding="ascii") as file:  # noqa: PTH123
                status = msgspec.convert(file.read().strip(), Status)
            if (schema := msgspec.json.decode(raw, type=_Head).schema) != RECORD_SCHEMA:
                raise _damaged(folder, f"it says schema {schema}, and this version reads {RECORD_SCHEMA}")
            yield Entry(msgspec.json.decode(raw, type=Record), status, folder)
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
            raise _damaged(folder, str(error)) from error


class _Head(msgspec.Struct):
    schema: str


def _replaced_contents(plan: Plan) -> dict[str, bytes]:
    """Bytes of the files that the plan will replace, so that they can be brought back."""
    kept: dict[str, bytes] = {}
    for step in plan.steps:
        if isinstance(step.before, FileState):
            with contextlib.suppress(FileNotFoundError), open(step.action.path, "rb") as file:  # noqa: PTH123
                kept[step.before.sha256] = file.read()
    return kept


def _damaged(path: str, why: str) -> Sm120kitError:
    return Sm120kitError(
        f"the journal record {path} cannot be read: {why}",
        hint="Nothing was changed. Use the sm120kit version that wrote it, or move the record's folder away",
        exit_code=OWN_FAULT,
    )

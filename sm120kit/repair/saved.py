"""Plans kept in files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import msgspec

from sm120kit.data_dir import DataDir
from sm120kit.errors import TARGET_UNREADABLE, USAGE, Sm120kitError
from sm120kit.repair.types import SCHEMA, Plan

_LARGEST = 64 << 20


def save_plan(plan: Plan, path: str) -> None:
    """Write ``plan`` as JSON.

    Raises:
        Sm120kitError: the file cannot be written.
    """
    try:
        with open(path, "wb") as file:  # noqa: PTH123
            file.write(msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")
    except OSError as error:
        raise Sm120kitError(f"{path} cannot be written: {error.strerror}", hint="Name another file") from error


def load_plan(path: str, data_dir: DataDir, target_key: str, homes: Sequence[str]) -> Plan:
    """Read a saved plan and see that it is whole, belongs to this target, and stays where repairs may write.

    ``homes`` are the target's toolkits: the only other places that a plan made with ``--in-place`` may add to.

    Raises:
        Sm120kitError: it cannot be read, was altered, or was made for another target or data folder.
    """
    try:
        if os.path.getsize(path) > _LARGEST:
            raise Sm120kitError(f"{path} is too large to be a plan", exit_code=TARGET_UNREADABLE)
        with open(path, "rb") as file:  # noqa: PTH123
            raw = file.read()
        schema = msgspec.json.decode(raw, type=_Head).schema
        if schema != SCHEMA:
            raise Sm120kitError(
                f"{path} is not a plan that this version reads: it says {schema or 'no schema'}, expected {SCHEMA}",
                hint="Make a new plan: sm120kit fix --plan-out FILE",
                exit_code=TARGET_UNREADABLE,
            )
        plan = msgspec.json.decode(raw, type=Plan)
    except OSError as error:
        raise Sm120kitError(f"{path} cannot be read: {error.strerror}", exit_code=TARGET_UNREADABLE) from error
    except msgspec.MsgspecError as error:
        raise Sm120kitError(
            f"{path} is not a whole plan: {error}",
            hint="Make a new plan: sm120kit fix --plan-out FILE",
            exit_code=TARGET_UNREADABLE,
        ) from error
    if plan.target_key != target_key or plan.data_dir != data_dir.path:
        raise Sm120kitError(
            f"{path} was made for {plan.target} with the data folder {plan.data_dir}",
            hint="Name that target and --data-dir, or make a plan for this one: sm120kit fix --plan-out FILE",
            exit_code=USAGE,
        )
    allowed = homes if plan.in_place else (data_dir.toolkits, data_dir.target(target_key))
    for step in plan.steps:
        place = os.path.normpath(step.action.path)
        if place != step.action.path or not any(f"{place}/".startswith(f"{root}/") for root in allowed):
            raise Sm120kitError(
                f"{path} would write to {step.action.path}, where no repair of this target writes",
                hint="Make a new plan: sm120kit fix --plan-out FILE",
            )
    for sha256, content in plan.contents.items():
        if hashlib.sha256(content).hexdigest() != sha256:
            raise Sm120kitError(
                f"{path} was altered: one of the files it would write is not the one it names",
                hint="Make a new plan: sm120kit fix --plan-out FILE",
                exit_code=TARGET_UNREADABLE,
            )
    return plan


class _Head(msgspec.Struct):
    schema: str = ""

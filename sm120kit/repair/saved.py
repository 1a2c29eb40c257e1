"""Plans kept in files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from sm120kit.data_dir import DataDir
from sm120kit.errors import TARGET_UNREADABLE, USAGE, Sm120kitError, code_of
from sm120kit.repair.journal import entries
from sm120kit.repair.paths import read_state
from sm120kit.repair.types import PLAN_SCHEMA, MakeDirectory, Plan, WriteFile
from sm120kit.snapshot.files import Files

_LARGEST = 64 << 20


_AGAIN = "Make a new plan: sm120kit fix --plan-out FILE"


def save_plan(plan: Plan, path: str) -> None:
    """Write ``plan`` as JSON, sealed.

    Raises:
        Sm120kitError: the file cannot be written.
    """
    try:
        with open(path, "wb") as file:  # noqa: PTH123
            file.write(msgspec.json.format(msgspec.json.encode(sealed(plan)), indent=1) + b"\n")
    except OSError as error:
        raise Sm120kitError(f"{path} cannot be written: {error.strerror}", hint="Name another file") from error


def sealed(plan: Plan) -> Plan:
    """The plan with the seal that belongs to its content."""
    return replace(plan, seal=hashlib.sha256(msgspec.json.encode(replace(plan, seal=""))).hexdigest())


def load_plan(path: str) -> Plan:
    """Read a saved plan and see that it is whole.

    Raises:
        Sm120kitError: it cannot be read, or was altered.
    """
    plan = _read(path)
    files = {step.action.sha256 for step in plan.steps if isinstance(step.action, WriteFile)}
    whole = all(hashlib.sha256(content).hexdigest() == sha256 for sha256, content in plan.contents.items())
    if sealed(plan) != plan or not whole or files - plan.contents.keys() or plan.switch_from > len(plan.steps):
        raise _refused(f"{path} was altered since it was saved")
    return plan


def see_that_it_fits(plan: Plan, path: str, data_dir: DataDir, target_key: str, homes: Sequence[str]) -> None:
    """See that the plan saved at ``path`` belongs to this target, and stays where repairs may write.

    ``homes`` are the target's toolkits: the only other places that a plan made with ``--in-place`` may add to.

    Raises:
        Sm120kitError: it was made for another target, or would write elsewhere.
    """
    if plan.target_key != target_key:
        raise Sm120kitError(
            f"{path} was made for another target: {plan.target}",
            hint="Leave --python and --site-packages out to apply it, or make a plan for this target: "
            "sm120kit fix --plan-out FILE",
            exit_code=USAGE,
        )
    if strange := _stray(plan, data_dir, homes):
        raise _refused(f"{path} would write to {strange}, where no repair of this target writes")


def applied_as(plan: Plan, data_dir: DataDir) -> int:
    """The number of the repair that carried out this very plan and stands as it left it; 0 where there is none."""
    if not plan.steps or any(read_state(step.action.path) != step.after for step in plan.steps):
        return 0
    made = (entry for entry in entries(data_dir) if entry.status == "applied" and entry.record.steps == plan.steps)
    return next((entry.record.number for entry in made), 0)


def _read(path: str) -> Plan:
    try:
        raw = Files().read(path, _LARGEST + 1)
        if len(raw) > _LARGEST:
            raise _refused(f"{path} is not a plan: it is too large for one")
        schema = msgspec.json.decode(raw, type=_Head).schema
        if schema != PLAN_SCHEMA:
            raise _refused(
                f"{path} is not a plan that this version reads: it says {schema or 'no schema'}, expected {PLAN_SCHEMA}"
            )
        return msgspec.json.decode(raw, type=Plan)
    except OSError as error:
        from sm120kit.snapshot.misnamed import near_file

        raise Sm120kitError(
            f"{path} cannot be read: {error.strerror}", hint=near_file(path, error), exit_code=code_of(error)
        ) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _refused(f"{path} is not a whole plan: {error}") from error


def _stray(plan: Plan, data_dir: DataDir, homes: Sequence[str]) -> str:
    """The first path of the plan that lies elsewhere than its repair may write, be it through a link; else empty."""
    current = data_dir.current(plan.target_key)
    roots = homes if plan.in_place else (data_dir.toolkits, data_dir.target(plan.target_key))
    if plan.current not in ("", current):
        return plan.current
    if plan.view and os.path.dirname(plan.view) != data_dir.toolkits:
        return plan.view
    made: set[str] = set()
    for step in plan.steps:
        path = step.action.path
        root = next((root for root in roots if f"{path}/".startswith(f"{root}/")), None)
        if root is None or os.path.normpath(path) != path:
            return path
        folder = os.path.dirname(path)
        real = os.path.realpath(root)
        if path != root and folder not in made and not f"{os.path.realpath(folder)}/".startswith(f"{real}/"):
            return path
        if isinstance(step.action, MakeDirectory):
            made.add(path)
        elif any(f"{other.action.path}/".startswith(f"{path}/") for other in plan.steps if other is not step):
            return path
    return ""


def _refused(message: str) -> Sm120kitError:
    return Sm120kitError(message, hint=_AGAIN, exit_code=TARGET_UNREADABLE)


class _Head(msgspec.Struct):
    schema: str = ""

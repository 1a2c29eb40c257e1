"""Applies a plan under the journal, and takes one back. Whatever stops it, the next run can go on from the record.

Every decision is taken from what stands at a path now, never from how far a run is said to have come: a path
found in its *after* state is ours to take back, one in its *before* state needs nothing, and any other was
changed by someone else since.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence

from sm120kit.data_dir import DataDir
from sm120kit.errors import FINDINGS, TARGET_UNREADABLE, Sm120kitError
from sm120kit.repair.journal import Entry, begin, entries
from sm120kit.repair.paths import describe, neighbour_of, perform, read_state, restore, sync_directory
from sm120kit.repair.types import DirectoryState, FileState, MakeDirectory, Plan, Step, WriteFile


class Refused(Sm120kitError):  # noqa: N818 - what happened, in one word
    """The plan or the undo was refused before or during its work; everything done was taken back."""

    def __init__(self, message: str, *, hint: str = "", exit_code: int = TARGET_UNREADABLE) -> None:
        super().__init__(message, hint=hint, exit_code=exit_code)


def apply_plan(
    data_dir: DataDir,
    plan: Plan,
    *,
    started_at: str,
    command: str,
    before_switch: Callable[[], str] = lambda: "",
    at_end: Callable[[], str] = lambda: "",
) -> Entry:
    """Do all steps of ``plan``; the caller holds the lock and has called :func:`recover`.

    ``before_switch`` runs once everything new stands beside the live state and nothing live has changed;
    ``at_end`` after the last step. Either answers with the reason to take all back, or with an empty string.

    Raises:
        Refused: a path is not in the state that the plan was made for or the system refused a write (exit code 4),
            or a callback gave a reason (1). All steps done so far were taken back.
    """
    check_preconditions(plan.steps)
    try:
        entry = begin(data_dir, plan, started_at=started_at, command=command)
    except OSError as error:
        raise Refused(_system_says(error), hint="Nothing was changed") from error
    useless = ""
    try:
        reason = _do_steps(entry, plan.steps[: plan.switch_from], plan.contents)
        useless = "" if reason else before_switch()
        if not reason and not useless:
            reason = _do_steps(entry, plan.steps[plan.switch_from :], plan.contents)
            useless = "" if reason else at_end()
        if not reason and not useless:
            return entry.set_status("applied")
    except OSError as error:
        reason = _system_says(error)
    except BaseException:
        take_back(entry)
        raise
    left = take_back(entry)
    exit_code = FINDINGS if useless else TARGET_UNREADABLE
    raise Refused(useless or reason, hint="Everything was taken back" + _but(left), exit_code=exit_code)


def recover(data_dir: DataDir) -> list[str]:
    """Take back whatever a killed run left half done. Returns a sentence for each record it had to mend."""
    sentences = []
    for entry in reversed(entries(data_dir)):
        if entry.status in ("applying", "taking-back"):
            left = take_back(entry)
            sentences.append(
                f"repair {entry.record.number} of {entry.record.target} had been cut off and was taken back"
                + _but(left)
            )
    return sentences


def undo(entry: Entry) -> None:
    """Take back an applied repair exactly, or refuse before the first change.

    Raises:
        Refused: a path was changed since, by someone else or by a later repair; nothing was changed.
    """
    strange = [f"{step.action.path} is now {describe(read_state(step.action.path))}" for step in _changed(entry)]
    if strange:
        raise Refused(
            f"repair {entry.record.number} cannot be taken back: {strange[0]}"
            + (f" (and {len(strange) - 1} more paths changed)" if len(strange) > 1 else ""),
            hint="Undo later repairs first (sm120kit history), or put the path back as it was",
        )
    left = take_back(entry)
    if left:
        raise Refused(
            f"repair {entry.record.number} was taken back" + _but(left), hint="Look at these paths and remove them"
        )


def take_back(entry: Entry) -> list[str]:
    """Undo every step that stands, last first. Returns the paths that had to be left, each with the reason."""
    with contextlib.suppress(OSError):
        # A full disk must not stop us here: taking back is what makes room.
        entry.set_status("taking-back")
    left = []
    for step in reversed(entry.record.steps):
        path = step.action.path
        with contextlib.suppress(OSError):
            os.unlink(neighbour_of(path, entry.mark))
        now = read_state(path)
        if now == step.before:
            continue
        if now != step.after:
            left.append(f"{path} (someone else made it {describe(now)})")
            continue
        try:
            content = entry.content(step.before.sha256) if isinstance(step.before, FileState) else b""
            restore(path, step.before, content, entry.mark)
        except OSError as error:
            left.append(f"{path} ({error.strerror})")
    for folder in _folders(entry.record.steps):
        sync_directory(folder)
    with contextlib.suppress(OSError):
        entry.set_status("taken-back")
    return left


def check_preconditions(steps: Sequence[Step]) -> None:
    """See that every path is as the plan expects it.

    Raises:
        Refused: one is not; nothing was changed.
    """
    for step in steps:
        now = read_state(step.action.path)
        if now != step.before:
            raise Refused(
                f"{step.action.path} is {describe(now)}, and the plan was made when it was {describe(step.before)}",
                hint="Nothing was changed. Make a new plan: sm120kit fix",
            )


def _do_steps(entry: Entry, steps: Sequence[Step], contents: dict[str, bytes]) -> str:
    for step in steps:
        now = read_state(step.action.path)
        if now != step.before:
            return f"{step.action.path} became {describe(now)} while the repair was at work"
        content = contents[step.action.sha256] if isinstance(step.action, WriteFile) else b""
        perform(step.action, step.before, content, entry.mark)
    for folder in _folders(steps):
        sync_directory(folder)
    return ""


def _changed(entry: Entry) -> list[Step]:
    """Steps whose path is in neither of its two states, or whose folder holds what is not ours."""
    ours = {step.action.path for step in entry.record.steps}
    changed = []
    for step in entry.record.steps:
        now = read_state(step.action.path)
        foreign = (
            isinstance(step.action, MakeDirectory)
            and isinstance(now, DirectoryState)
            and any(f"{step.action.path}/{name}" not in ours for name in os.listdir(step.action.path))
        )
        if foreign or now not in (step.before, step.after):
            changed.append(step)
    return changed


def _folders(steps: Sequence[Step]) -> list[str]:
    return list(dict.fromkeys(os.path.dirname(step.action.path) for step in steps))


def _system_says(error: OSError) -> str:
    return f"{error.filename or 'a path of the plan'}: {error.strerror}"


def _but(left: Sequence[str]) -> str:
    if not left:
        return ""
    return f", except {', '.join(left[:3])}{' and others' if len(left) > 3 else ''}"

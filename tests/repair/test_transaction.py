"""The transaction: applied whole or not at all, whatever stops it."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from sm120kit.data_dir import DataDir
from sm120kit.errors import Sm120kitError
from sm120kit.repair.journal import Entry, entries
from sm120kit.repair.lock import locked
from sm120kit.repair.transaction import Refused, apply_plan, recover, undo
from sm120kit.repair.types import Plan
from tests.kills import every_kill, killed_at
from tests.pictures import picture

MakePlan = Callable[[Path], Plan]


def apply(data_dir: DataDir, plan: Plan) -> Entry:
    with locked(data_dir):
        recover(data_dir)
        return apply_plan(data_dir, plan, started_at="2026-11-29T00:00:00Z", command="test")


def take_back_last(data_dir: DataDir) -> None:
    with locked(data_dir):
        recover(data_dir)
        for entry in entries(data_dir):
            if entry.status == "applied":
                undo(entry)


def test_apply_then_undo_brings_back_the_exact_state(data_dir: DataDir, workshop: Path, make_plan: MakePlan) -> None:
    before = picture(workshop)
    plan = make_plan(workshop)
    entry = apply(data_dir, plan)
    assert entry.status == "applied"
    assert os.readlink(workshop / "current") == "new-view"
    assert (workshop / "env.sh").read_text() == "new script\n"
    assert (workshop / "new-view" / "lib64" / "libcuda.so").stat().st_mode & 0o777 == 0o755
    take_back_last(data_dir)
    assert picture(workshop) == before
    assert [entry.status for entry in entries(data_dir)] == ["taken-back"]


def test_a_reason_at_the_gate_takes_all_back(data_dir: DataDir, workshop: Path, make_plan: MakePlan) -> None:
    before = picture(workshop)
    plan = make_plan(workshop)
    seen: list[str] = []

    def gate() -> str:
        seen.append(os.readlink(workshop / "current"))
        return "the proof failed"

    with locked(data_dir), pytest.raises(Refused, match="the proof failed"):
        apply_plan(data_dir, plan, started_at="", command="test", before_switch=gate)
    assert seen == ["old-view"]
    assert picture(workshop) == before


def test_a_path_changed_since_the_plan_is_refused(data_dir: DataDir, workshop: Path, make_plan: MakePlan) -> None:
    plan = make_plan(workshop)
    (workshop / "env.sh").write_text("changed meanwhile\n")
    before = picture(workshop)
    with pytest.raises(Refused, match=r"env\.sh is a file"):
        apply(data_dir, plan)
    assert picture(workshop) == before


@pytest.mark.parametrize("change", ["replace-link", "foreign-file", "edit-script"])
def test_undo_refuses_what_someone_else_changed(
    data_dir: DataDir, workshop: Path, make_plan: MakePlan, change: str
) -> None:
    apply(data_dir, make_plan(workshop))
    if change == "replace-link":
        (workshop / "new-view" / "lib").unlink()
        (workshop / "new-view" / "lib").symlink_to("/elsewhere")
    elif change == "foreign-file":
        (workshop / "new-view" / "bin" / "theirs").write_text("x")
    else:
        (workshop / "env.sh").write_text("edited by hand\n")
    before = picture(workshop)
    with pytest.raises(Refused, match="cannot be taken back"):
        take_back_last(data_dir)
    assert picture(workshop) == before
    assert entries(data_dir)[-1].status == "applied"


def _refusal(work: Callable[[], object]) -> str | None:
    """The message with which ``work`` was refused, or ``None`` when it was done."""
    try:
        work()
    except Sm120kitError as error:
        return error.message
    return None


def test_killed_at_every_write_of_apply(data_dir: DataDir, workshop: Path, make_plan: MakePlan) -> None:
    before = picture(workshop)
    plan = make_plan(workshop)
    for _ in every_kill(lambda: apply(data_dir, plan)):
        with locked(data_dir):
            recover(data_dir)
        if entries(data_dir) and entries(data_dir)[-1].status == "applied":
            take_back_last(data_dir)
        assert picture(workshop) == before
    assert os.readlink(workshop / "current") == "new-view"


def test_killed_at_every_write_of_undo(data_dir: DataDir, workshop: Path, make_plan: MakePlan) -> None:
    before = picture(workshop)
    apply(data_dir, make_plan(workshop))
    after = picture(workshop)
    for _ in every_kill(lambda: take_back_last(data_dir)):
        with locked(data_dir):
            recover(data_dir)
        status = entries(data_dir)[-1].status
        assert picture(workshop) == (after if status == "applied" else before)
        if status != "applied":
            apply(data_dir, make_plan(workshop))
    assert picture(workshop) == before


def test_killed_while_recovering(data_dir: DataDir, workshop: Path, make_plan: MakePlan) -> None:
    before = picture(workshop)
    plan = make_plan(workshop)

    def recover_locked() -> None:
        with locked(data_dir):
            recover(data_dir)

    assert killed_at(90, lambda: apply(data_dir, plan))
    assert picture(workshop) != before
    for _ in every_kill(recover_locked):
        pass
    recover_locked()
    assert picture(workshop) == before


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_refused_write_at_any_step_takes_all_back(
    data_dir: DataDir,
    workshop: Path,
    make_plan: MakePlan,
    monkeypatch: pytest.MonkeyPatch,
    error: int,
    lasting: bool,
) -> None:
    before = picture(workshop)
    for failing in range(1, 60):
        made = 0

        def failing_at(real: Callable[..., object], failing: int = failing) -> Callable[..., object]:
            def write(*arguments: object, **named: object) -> object:
                nonlocal made
                made += 1
                if made == failing or (lasting and made > failing):
                    raise OSError(error, os.strerror(error), str(arguments[0]))
                return real(*arguments, **named)

            return write

        plan = make_plan(workshop)
        with monkeypatch.context() as patch:
            for name in ("mkdir", "symlink", "replace", "link", "write"):
                patch.setattr(os, name, failing_at(getattr(os, name)))
            refusal = _refusal(partial(apply, data_dir, plan))
        if refusal is None:
            break
        assert os.strerror(error) in refusal
        with locked(data_dir):
            recover(data_dir)
        assert picture(workshop) == before
    else:
        pytest.fail("no run came to its end")
    assert os.readlink(workshop / "current") == "new-view"


def test_two_at_once_one_is_refused(data_dir: DataDir, workshop: Path, make_plan: MakePlan) -> None:
    plan = make_plan(workshop)
    at_the_gate, go_on = threading.Event(), threading.Event()
    done: list[Entry] = []

    def gate() -> str:
        at_the_gate.set()
        go_on.wait(10)
        return ""

    def first() -> None:
        with locked(data_dir):
            done.append(apply_plan(data_dir, plan, started_at="", command="test", before_switch=gate))

    thread = threading.Thread(target=first)
    thread.start()
    assert at_the_gate.wait(10)
    with pytest.raises(Sm120kitError, match="another repair is at work"):
        apply(data_dir, plan)
    go_on.set()
    thread.join(10)
    assert [entry.status for entry in done] == ["applied"]


def test_a_damaged_record_is_named(data_dir: DataDir, workshop: Path, make_plan: MakePlan) -> None:
    entry = apply(data_dir, make_plan(workshop))
    (Path(entry.folder) / "record.json").write_bytes(b'{"schema": "sm120kit.record/1"')
    with pytest.raises(Sm120kitError, match=r"journal record .*0001 cannot be read"):
        entries(data_dir)


def test_a_stray_write_would_be_seen() -> None:
    with pytest.raises(AssertionError, match="outside the temporary folder"):
        os.mkdir("/sm120kit-stray")
    assert not os.path.lexists("/sm120kit-stray")

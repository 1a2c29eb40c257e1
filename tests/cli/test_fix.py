"""``fix``, ``undo``, ``history``, ``toolkits`` and ``prove`` over a tiny toolkit, in this process."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from sm120kit.cli.main import main
from sm120kit.data_dir import open_data_dir
from sm120kit.repair.lock import locked
from sm120kit.repair.saved import save_plan
from sm120kit.repair.types import Plan
from tests.cli.conftest import Answer, Command
from tests.kills import count_writes, killed_at
from tests.pictures import Picture, picture
from tests.programs import give_up, require_program
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


def test_a_dry_run_shows_the_plan_and_writes_nothing(fix: Fix, tmp_path: Path) -> None:
    before = picture(tmp_path)
    answer = fix()
    assert answer.code == 1
    for words in ("toolkit.cudart-unlinkable", "The toolkit view is made of", "Nothing was written"):
        assert words in answer.out
    again = next(line for line in answer.out.split("\n") if line.strip().startswith("sm120kit fix --"))
    assert f"--site-packages {tmp_path}/site-packages" in again
    assert again.endswith("--apply")
    data = fix.json()
    assert (data["schema"], data["plan"]["schema"]) == ("sm120kit.fix/1", "sm120kit.repair-plan/1")
    assert {cure["check"] for cure in data["plan"]["cures"]} == {
        "toolkit.cudart-unlinkable", "toolkit.libcuda-stub-missing",
    }  # fmt: skip
    assert picture(tmp_path) == before


def test_applied_once_and_taken_back(fix: Fix) -> None:
    tree = picture(fix.tiny.site_packages)
    answer = fix("--apply")
    assert answer.code == 0, answer.err
    assert "Repaired, as number 1. Proved: 5 passed." in answer.out
    assert "gone" in answer.out
    assert f"    . {fix.json()['env_script']}" in answer.out.splitlines()
    state = fix.written()
    assert {path for path in state if path.endswith(("env.sh", "env.fish", "env.systemd"))}
    again = fix("--apply")
    assert (again.code, "Nothing to repair." in again.out, fix.written()) == (0, True, state)
    assert picture(fix.tiny.site_packages) == tree
    history = json.loads(fix.run("history", "--json").out)
    assert [(each["number"], each["status"]) for each in history["repairs"]] == [(1, "applied")]
    assert fix.run("undo").code == 0
    assert set(fix.written()) == EMPTY
    assert fix.run("undo").code == 2
    assert "taken back" in fix.run("history").out


def test_the_doctor_says_once_that_the_repair_is_not_used(fix: Fix, sm120kit: Command) -> None:
    fix.applied()
    os.environ.update(XDG_DATA_HOME=str(fix.data_dir.parent / "xdg"))
    (fix.data_dir.parent / "xdg").mkdir()
    (fix.data_dir.parent / "xdg/sm120kit").symlink_to(fix.data_dir)
    os.environ["CUDA_HOME"] = str(fix.tiny.cuda_home)
    answer = sm120kit("doctor", "--json", "--no-system-toolkits", "--site-packages", str(fix.tiny.site_packages))
    found = [each for each in json.loads(answer.out)["findings"] if each["severity"] != "note"]
    assert [each["check"] for each in found] == ["repair.view-not-used"]


def test_only_and_skip_choose_what_is_mended(fix: Fix) -> None:
    only = fix.json("--only", "toolkit.libcuda-*")["plan"]
    assert [cure["check"] for cure in only["cures"]] == ["toolkit.libcuda-stub-missing"]
    skipped = fix.json("--skip", "toolkit.cudart-*", "--skip", "toolkit.libcuda-*")
    assert skipped["plan"]["steps"] == []
    assert fix("--only", "toolkit.nothing-such").code == 2


def test_a_repair_that_does_not_help_takes_all_back(fix: Fix, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof passes, and makes one of the view's own sources go: the target is read again at the end."""
    gone = fix.tiny.cuda_home / "include/crt/host_config.h"
    monkeypatch.setenv("PLANT", f"rm -f {shlex.quote(str(gone))}")
    answer = fix("--apply")
    assert answer.code == 1
    assert "is found after the repair" in answer.err
    assert set(fix.written()) == EMPTY


def test_a_driver_that_does_not_load_is_no_fault_of_the_repair(fix: Fix, tmp_path: Path) -> None:
    stub = tmp_path / "stubs/libcuda.so.1"
    stub.parent.mkdir()
    command = ["gcc", "-shared", "-nostdlib", "-x", "c", "-", "-Wl,-soname,libcuda.so.1", "-o", str(stub)]
    subprocess.run(command, input=b"int cuInit(unsigned flags) { return 34; }\n", check=True)
    variables = tmp_path / "variables.env"
    variables.write_text(f"PATH={os.environ['PATH']}\nLD_LIBRARY_PATH={stub.parent}\n")
    answer = fix("--apply", "--env-file", str(variables))
    assert answer.code == 0, answer.err
    assert "cuInit returned 34" in answer.out
    assert "loader.stub-on-path           remains (error)" in answer.out


def test_a_proof_that_fails_takes_all_back(fix: Fix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANT", "echo 'a.cu(1): error: planted' >&2; exit 1")
    answer = fix("--apply")
    assert answer.code == 1
    assert "failed: a.cu(1): error: planted" in answer.err
    assert "Everything was taken back" in answer.err
    assert set(fix.written()) == EMPTY


def test_without_a_compiler_on_the_path_nothing_is_said_of_the_toolkit(fix: Fix, tmp_path: Path) -> None:
    variables = tmp_path / "variables.env"
    variables.write_text("PATH=\n")
    answer = fix.run("prove", "--env-file", str(variables), *fix.target)
    assert answer.code == 1
    assert "Not proved: no gcc/c++ on PATH." in answer.out
    assert "FAILED" not in answer.out


def test_a_folder_in_which_nvcc_cannot_work(sm120kit: Command, tmp_path: Path) -> None:
    odd = tmp_path / 'a"b'
    odd.mkdir()
    fix = Fix(sm120kit, make_tiny_toolkit(odd), tmp_path / "data")
    plan = fix.json()["plan"]
    assert "holds a double quote" in plan["blocked"][0]
    assert plan["packages"] == []
    assert "pip install" not in json.dumps(plan["manual"])


def _commands(answer: Answer, name: str) -> list[list[str]]:
    lines = [shlex.split(line)[1:] for line in answer.out.splitlines() if line.startswith("  ") and "sm120kit" in line]
    return [words for words in lines if words[:1] == [name]]


def test_a_failed_proof_names_the_repair_of_its_target(fix: Fix) -> None:
    answer = fix.run("prove", *fix.target)
    assert answer.code == 1
    assert "can mend what the doctor finds here (toolkit.cudart-unlinkable, toolkit.libcuda-stub-missing)" in answer.out
    [repair] = _commands(answer, "fix")
    assert fix.sm120kit(*repair, "--apply").code == 0
    [keep] = _commands(answer, "prove")
    assert fix.sm120kit(*keep[:-1], str(fix.data_dir / "kept")).code == 0
    assert "can mend" not in fix.run("prove", *fix.target).out


def test_a_failed_proof_that_no_repair_is_known_for_names_the_doctor(fix: Fix, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fix("--apply").code == 0
    monkeypatch.setenv("PLANT", "exit 1")
    answer = fix.run("prove", "--fresh", *fix.target)
    assert answer.code == 1
    assert _commands(answer, "fix") == []
    assert "no repair is known for what failed" in answer.out
    [examine] = _commands(answer, "doctor")
    assert "repair.view-not-used" in fix.sm120kit(*examine).out


def test_what_a_proof_keeps(fix: Fix, tmp_path: Path) -> None:
    assert fix("--apply").code == 0
    kept = tmp_path / "proof"
    assert fix.run("prove", "--keep", str(kept), *fix.target).code == 0
    assert (kept / "compile/kernel.cu").is_file()
    assert (kept / "compile/kernel.o").is_file()
    assert "{scratch}" not in (kept / "compile/run.sh").read_text()
    assert fix.run("prove", "--keep", str(kept), *fix.target).code == 2


def test_what_is_printed_as_data_fits_its_schema(fix: Fix, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    printed = {"fix": [fix("--json", "--plan-out", str(plan)).out, fix("--apply", "--json").out, fix("--json").out]}
    printed["repair-plan"] = [plan.read_text()]
    printed["proof"] = [fix.run("prove", "--json", *fix.target).out]
    printed["history"] = [fix.run("history", "--json").out]
    printed["toolkits"] = [fix.run("toolkits", "--json").out]
    for document, texts in printed.items():
        for text in texts:
            Draft202012Validator(json.loads(fix.sm120kit("schema", document).out)).validate(json.loads(text))


# Plans in files


@pytest.fixture
def plan(fix: Fix, tmp_path: Path) -> Path:
    """A saved plan for the target."""
    path = tmp_path / "plan.json"
    assert fix("--plan-out", str(path)).code == 1
    return path


def altered(path: Path, change: Callable[[dict[str, Any]], None], *, resealed: bool = True) -> None:
    plan = json.loads(path.read_bytes())
    change(plan)
    path.write_text(json.dumps(plan))
    if resealed:
        with contextlib.suppress(msgspec.MsgspecError):
            save_plan(msgspec.json.decode(path.read_bytes(), type=Plan), str(path))


def refused(fix: Fix, plan: Path, words: str, code: int = 4) -> None:
    tree = picture(fix.tiny.site_packages)
    answer = fix("--apply", str(plan))
    assert words in answer.err, answer.err
    assert answer.code == code
    assert len(answer.err.splitlines()) <= 2
    assert set(fix.written()) <= EMPTY
    assert picture(fix.tiny.site_packages) == tree


def test_a_saved_plan_is_applied_as_it_is(fix: Fix, plan: Path) -> None:
    answer = fix("--apply", str(plan))
    assert answer.code == 0, answer.err
    steps = json.loads(plan.read_bytes())["steps"]
    assert all(os.path.lexists(step["action"]["path"]) for step in steps)
    assert fix("--apply", str(plan)).code == 4
    assert fix.json()["plan"]["steps"] == []


def test_a_saved_plan_knows_its_target(fix: Fix, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(away)
    answer = fix.sm120kit("fix", "--apply", str(plan))
    assert answer.code == 0, answer.err
    assert f"sm120kit undo 1 --data-dir {fix.data_dir}" in answer.out
    assert str(fix.tiny.site_packages) in answer.out


def test_the_command_that_applies_a_saved_plan_is_printed_whole(fix: Fix, tmp_path: Path) -> None:
    answer = fix("--plan-out", str(tmp_path / "my plan.json"))
    assert answer.out.rstrip().endswith(f"sm120kit fix --apply '{tmp_path}/my plan.json'")


def test_relative_names_of_the_target_are_kept_whole(fix: Fix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fix.tiny.site_packages)
    named = ["--no-system-toolkits", "--site-packages", ".", "--data-dir", "data"]
    named += ["--cuda-home", os.path.relpath(fix.tiny.cuda_home), "--gpu", "12.0"]
    assert fix.sm120kit("fix", *named, "--plan-out", "plan.json").code == 1
    assert json.loads(Path("plan.json").read_bytes())["named_by"] == {
        "python": "",
        "site_packages": str(fix.tiny.site_packages),
        "cuda_home": str(fix.tiny.cuda_home),
        "no_system_toolkits": True,
        "env_file": "",
        "pid": 0,
        "gpu": "12.0",
        "driver": "",
        "deep": False,
    }
    assert fix.sm120kit("fix", *named, "--apply", "plan.json").code == 0


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["--cuda-home", "/usr"], "--cuda-home /usr where the plan has --cuda-home /"),
        (["--gpu", "b200"], "--gpu b200 where the plan has none"),
        (["--deep", "--driver", "580"], "--driver 580 where the plan has none; --deep where the plan has none"),
        (["--data-dir", "/elsewhere"], "--data-dir /elsewhere where the plan has --data-dir /"),
    ],
)
def test_options_that_contradict_a_saved_plan_are_named(fix: Fix, plan: Path, typed: list[str], words: str) -> None:
    answer = fix.sm120kit("fix", "--apply", str(plan), *typed)
    assert (answer.code, words in answer.err) == (2, True), answer.err
    assert "Leave these options out" in answer.err
    assert set(fix.written()) <= EMPTY


def _outside(plan: dict[str, Any]) -> None:
    plan["steps"][3]["action"]["path"] = "/etc/cron.d/ours"


def _upwards(plan: dict[str, Any]) -> None:
    plan["steps"][3]["action"]["path"] = f"{plan['data_dir']}/toolkits/../../elsewhere"


def _through_a_link(plan: dict[str, Any]) -> None:
    """A link of the plan's own, and a path below it."""
    root = f"{plan['data_dir']}/toolkits/x"
    plan["switch_from"] = 2
    plan["steps"] = [
        {**plan["steps"][0], "action": {"do": "make-link", "path": root, "target": "/etc"}},
        {**plan["steps"][0], "action": {"do": "make-link", "path": f"{root}/ours", "target": "/etc/passwd"}},
    ]


def _other_script(plan: dict[str, Any]) -> None:
    name = next(name for name in plan["contents"])
    plan["contents"][name] = "YmFk"


def _without_script(plan: dict[str, Any]) -> None:
    plan["contents"] = {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_outside, "where no repair of this target writes"),
        (_upwards, "where no repair of this target writes"),
        (_through_a_link, "where no repair of this target writes"),
        (_other_script, "was altered"),
        (_without_script, "was altered"),
        (lambda plan: plan.update(schema="sm120kit.plan/9"), "not a plan that this version reads"),
        (lambda plan: plan.pop("target_key"), "not a whole plan"),
        (lambda plan: plan.update(in_place=True), "where no repair of this target writes"),
        (lambda plan: plan.update(target_key="other-1"), "was made for another target"),
        (lambda plan: plan.update(switch_from=10_000), "was altered"),
        (lambda plan: plan.update(current="/etc/current"), "where no repair of this target writes"),
    ],
)
def test_an_altered_plan_is_refused(fix: Fix, plan: Path, change: Callable[[dict[str, Any]], None], words: str) -> None:
    altered(plan, change)
    answer = fix("--apply", str(plan))
    refused(fix, plan, words, answer.code)
    assert answer.code in (2, 4)


def test_a_plan_with_another_link_is_refused(fix: Fix, plan: Path) -> None:
    def other_nvcc(content: dict[str, Any]) -> None:
        link = next(step["action"] for step in content["steps"] if step["action"]["path"].endswith("/bin/nvcc"))
        link["target"] = "/tmp/nvcc"

    altered(plan, other_nvcc, resealed=False)
    refused(fix, plan, "was altered since it was saved")


def test_a_plan_for_another_target_or_data_folder_is_refused(fix: Fix, plan: Path, tmp_path: Path) -> None:
    other = Fix(fix.sm120kit, make_tiny_toolkit(tmp_path / "other"), fix.data_dir)
    refused(other, plan, "was made for", 2)
    refused(Fix(fix.sm120kit, fix.tiny, tmp_path / "elsewhere"), plan, "was made for", 2)


@pytest.mark.parametrize("name", ["bin/nvcc", "include/cuda.h", "lib/libcudart.so.13", "include/cccl/cub/version.cuh"])
def test_a_plan_whose_sources_changed_is_refused(fix: Fix, plan: Path, name: str) -> None:
    source = fix.tiny.cuda_home / name
    source.write_bytes(source.read_bytes() + b"\n")
    refused(fix, plan, f"the plan no longer fits: {source} has changed")


def test_a_plan_whose_sources_went_is_refused(fix: Fix, plan: Path) -> None:
    (fix.tiny.cuda_home / "bin/ptxas").unlink()
    refused(fix, plan, "is not there any more")


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff\xfe", b'{"schema": 1}'])
def test_a_file_that_is_no_plan_is_refused(fix: Fix, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "no-plan").write_bytes(content)
    refused(fix, tmp_path / "no-plan", "no-plan is not a")


def test_a_named_pipe_is_no_plan(fix: Fix, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(fix, tmp_path / "pipe", "pipe cannot be read: not a regular file")


def test_no_file_at_all(fix: Fix, tmp_path: Path) -> None:
    refused(fix, tmp_path / "none.json", "cannot be read: No such file or directory", 2)
    assert fix(str(tmp_path / "none.json")).code == 2


# What stands in the way


def test_an_empty_folder_in_the_journal_is_no_damage(fix: Fix) -> None:
    fix.applied()
    empty = fix.data_dir / "journal" / "0002"
    empty.mkdir()
    said = f"{empty} is empty: a run ended before it wrote anything, and changed nothing"
    history = fix.run("history")
    assert (history.code, said in history.err) == (0, True)
    assert len(json.loads(fix.run("history", "--json").out)["repairs"]) == 1
    undone = fix.run("undo")
    assert (undone.code, said in undone.err) == (0, True), undone.err
    assert "Repair 1" in undone.out
    assert not empty.exists()
    (fix.data_dir / "journal" / "0004").mkdir()
    assert fix.applied()["applied"] == 2


def test_two_at_once_one_is_refused(fix: Fix) -> None:
    with locked(open_data_dir(str(fix.data_dir))):
        for answer in (fix("--apply"), fix.run("undo"), fix.run("toolkits", "--prune", "--apply")):
            assert answer.code == 4
            assert answer.err.splitlines()[0].endswith(f"(process {os.getpid()})")
            assert "run this again" in answer.err.splitlines()[1]
            assert answer.out == ""
    assert set(fix.written()) == EMPTY
    assert fix("--apply").code == 0


def test_the_data_folder_is_a_file(fix: Fix) -> None:
    fix.data_dir.write_text("")
    answer = fix("--apply")
    assert answer.code == 4
    assert "is not a folder" in answer.err
    assert "--data-dir" in answer.err


def test_the_data_folder_belongs_to_another_user(fix: Fix) -> None:
    if os.geteuid() != 0:
        give_up("only root can give a folder to another user")
    fix.data_dir.mkdir()
    os.chown(fix.data_dir, 12345, 12345)
    answer = fix("--apply")
    assert (answer.code, "belongs to user 12345" in answer.err) == (4, True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for the journal and not for the view."""
    folder = tmp_path / "small"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=256k,nr_inodes=45", "tmpfs"]
    if (
        os.geteuid() != 0
        or subprocess.run(["mount", *options, str(folder)], check=False, capture_output=True).returncode
    ):
        give_up("a file system can be mounted by root alone")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_the_disk_is_full(fix: Fix, small_disk: Path) -> None:
    full = Fix(fix.sm120kit, fix.tiny, small_disk / "data")
    answer = full("--apply")
    assert answer.code == 4
    assert "No space left on device" in answer.err
    assert set(full.written()) <= EMPTY
    assert len(answer.err.splitlines()) == 2
    subprocess.run(["mount", "-o", "remount,size=4m,nr_inodes=1000", str(small_disk)], check=True)
    assert full("--apply").code == 0


def test_the_disk_is_read_only(fix: Fix, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=4m,nr_inodes=1000", str(small_disk)], check=True)
    held = Fix(fix.sm120kit, fix.tiny, small_disk / "data")
    held.applied()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for answer in (held("--apply"), held.run("undo")):
        assert answer.code == 4
        assert "Read-only file system" in answer.err
    assert held().code == 0
    assert held.run("history").code == 0
    assert held.run("prove", *held.target).code == 0


@pytest.mark.parametrize("where", ["toolkits", "targets"])
def test_a_path_that_someone_makes_meanwhile(fix: Fix, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The proof stands between what is built and what is switched: the path is made by the compiler."""
    plan = fix.json()["plan"]
    made = plan["current"] if where == "targets" else f"{plan['view']}/lib64/theirs"
    monkeypatch.setenv("PLANT", f"[ -e {shlex.quote(made)} ] || echo theirs > {shlex.quote(made)}")
    answer = fix("--apply")
    assert answer.code == (4 if where == "targets" else 0)
    if where == "targets":
        assert f"{made} became a file" in answer.err
        left = {path for path in fix.written() if path not in EMPTY}
        assert left == {os.path.relpath(made, fix.data_dir), os.path.relpath(Path(made).parent, fix.data_dir)}
    else:
        undone = fix.run("undo")
        assert undone.code == 4
        assert "cannot be taken back" in undone.err
    assert Path(made).read_text() == "theirs\n"


def _every_nth_write(fix: Fix, parts: int) -> None:
    tree = picture(fix.tiny.site_packages)
    apply = ["fix", "--apply", *fix.target, "--data-dir", str(fix.data_dir)]
    undo = ["undo", "--data-dir", str(fix.data_dir)]
    last = count_writes(partial(main, apply), str(fix.data_dir))
    assert last > 60
    state = fix.written()
    assert fix.run("undo").code == 0
    for count in _spread(last, parts):
        assert killed_at(count, partial(main, apply), str(fix.data_dir))
        answer = fix("--apply")
        assert answer.code == 0, answer.err
        assert fix.written() == state
        assert fix.run("undo").code == 0
        assert set(fix.written()) == EMPTY
    assert fix("--apply").code == 0
    last = count_writes(partial(main, undo), str(fix.data_dir))
    assert last > 30
    for count in _spread(last, parts):
        assert fix("--apply").code == 0
        assert killed_at(count, partial(main, undo), str(fix.data_dir))
        # What was cut off is finished by the next command; before the first change, the repair still stands.
        answer = fix.run("undo")
        assert answer.code in (0, 2), answer.err
        assert set(fix.written()) == EMPTY
    assert picture(fix.tiny.site_packages) == tree


def _spread(last: int, parts: int) -> list[int]:
    """Numbers of writes, and of those about the switch, which is among the last ones."""
    return sorted({1, last, last - 3, last - 6, *(last * part // parts for part in range(1, parts))} - {0})


def test_killed_in_the_middle_the_next_command_recovers(fix: Fix) -> None:
    _every_nth_write(fix, 4)


@pytest.mark.wheels
def test_killed_at_any_write_the_next_command_recovers(fix: Fix) -> None:
    """Every write there is, of the command itself: minutes."""
    _every_nth_write(fix, 10_000)


# Where things lie


@pytest.mark.parametrize("name", ["it's one; #1 & (2), ü\nback\\slash", "-dash"])
def test_a_data_folder_of_any_name(sm120kit: Command, tiny: Tiny, tmp_path: Path, name: str) -> None:
    fix = Fix(sm120kit, tiny, tmp_path / name)
    data = fix.applied()
    done = subprocess.run(
        ["sh", "-euc", '. "$1"; printf "%s" "$CUDA_HOME"', "sh", data["env_script"]],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == data["plan"]["current"]
    assert fix("--apply").code == 0
    assert fix.run("undo").code == 0


@pytest.mark.parametrize("name", ['"', "$HOME", "`id`", "a:b"])
def test_a_data_folder_in_which_nvcc_finds_nothing(sm120kit: Command, tiny: Tiny, tmp_path: Path, name: str) -> None:
    answer = Fix(sm120kit, tiny, tmp_path / name)("--apply")
    assert answer.code == 2
    assert "cannot hold a toolkit view" in answer.err


def test_a_umask_that_shuts_others_out(fix: Fix) -> None:
    before = os.umask(0o077)
    try:
        fix.applied()
    finally:
        os.umask(before)
    modes = {path: state[1] for path, state in fix.written().items() if isinstance(state[1], int)}
    assert {oct(mode) for path, mode in modes.items() if path.count("/") > 1 and not path.endswith(".so")} <= {
        "0o755", "0o644",
    }  # fmt: skip
    assert fix.run("undo").code == 0


@pytest.mark.parametrize("xdg", ["absolute", "relative", "unset"])
def test_where_repairs_are_kept_without_the_option(
    sm120kit: Command, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, xdg: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME")
    if xdg == "absolute":
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    elif xdg == "relative":
        monkeypatch.setenv("XDG_DATA_HOME", "data")
    target = ["--no-system-toolkits", "--site-packages", str(tiny.site_packages), "--cuda-home", str(tiny.cuda_home)]
    assert sm120kit("fix", "--apply", *target).code == 0
    expected = tmp_path / ("xdg" if xdg == "absolute" else "home/.local/share")
    assert (expected / "sm120kit/targets").is_dir()
    assert sm120kit("undo").code == 0


def test_without_a_home(fix: Fix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    assert fix("--apply").code == 0


def test_views_of_a_target_that_went_are_pruned(fix: Fix, tmp_path: Path) -> None:
    other = Fix(fix.sm120kit, make_tiny_toolkit(tmp_path / "other"), fix.data_dir)
    view = other.applied()["plan"]["view"]
    fix.applied()
    kept = picture(fix.data_dir)
    assert "Nothing to remove" in fix.run("toolkits", "--prune").out or "can be removed" not in fix.run("toolkits").out
    shutil.rmtree(tmp_path / "other")
    shown = fix.run("toolkits", "--prune")
    assert "its target is gone" in shown.out
    assert picture(fix.data_dir) == kept
    assert fix.run("toolkits", "--prune", "--apply").code == 0
    assert not Path(view).exists()
    assert fix.run("toolkits", "--prune", "--apply", "--json").code == 0
    assert fix.json("--apply")["plan"]["steps"] == []
    assert fix.run("undo").code == 0
    assert set(fix.written()) == EMPTY


def test_a_view_whose_sources_changed_is_composed_anew(fix: Fix) -> None:
    first = fix.applied()["plan"]["view"]
    library = fix.tiny.cuda_home / "nvvm/libdevice/libdevice.10.bc"
    library.write_bytes(b"CB")
    answer = fix.json()
    assert [each["check"] for each in answer["before"]] == ["repair.view-stale"]
    second = fix.applied()["plan"]["view"]
    assert second != first
    links = {path.name: os.readlink(path) for path in Path(second).rglob("*") if path.is_symlink()}
    assert links["nvcc"] == str(fix.tiny.cuda_home / "bin/nvcc")
    assert not any(str(fix.data_dir) in link for link in links.values())
    assert fix("--apply").code == 0
    assert fix.json()["plan"]["steps"] == []
    # The view before stays, since undoing the second repair returns to it.
    assert fix.run("toolkits", "--prune", "--apply").code == 0
    assert fix.run("undo").code == 0
    assert Path(fix.json()["plan"]["current"] or first).exists()
    assert Path(first).is_dir()
    assert not Path(second).exists()


def test_two_data_folders_know_nothing_of_each_other(fix: Fix, tmp_path: Path) -> None:
    first = fix.applied()["plan"]["view"]
    second = Fix(fix.sm120kit, fix.tiny, tmp_path / "second")
    os.environ["CUDA_HOME"] = fix.json()["plan"]["current"] or first
    view = second.applied()["plan"]["view"]
    links = [os.readlink(path) for path in Path(view).rglob("*") if path.is_symlink()]
    assert not any(str(fix.data_dir) in link for link in links)


def test_the_command_as_a_program(fix: Fix) -> None:
    command = [sys.executable, "-m", "sm120kit", "fix", "--apply", *fix.target, "--data-dir", str(fix.data_dir)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")

"""A plan that was saved: it knows its target, and is refused when anything about it is not as it was."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sm120kit.repair.saved import save_plan
from sm120kit.repair.types import Plan
from tests.cli.fix.conftest import EMPTY, Fix
from tests.pictures import picture
from tests.tiny_toolkit import make_tiny_toolkit

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
    again = fix("--apply", str(plan))
    assert (again.code, again.out) == (0, f"{plan} is applied already, as repair 1. Nothing was changed.\n")
    assert fix.json()["plan"]["steps"] == []
    assert fix.run("undo").code == 0
    assert fix("--apply", str(plan)).code == 0


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


def test_what_is_said_of_a_plan_that_was_saved_and_does_nothing(fix: Fix, tmp_path: Path) -> None:
    (fix.tiny.cuda_home / "nvvm/bin/cicc").unlink()
    answer = fix("--plan-out", str(tmp_path / "plan.json"))
    assert answer.code == 1
    assert f"Nothing was written but {tmp_path}/plan.json, a plan that does nothing." in " ".join(answer.out.split())


def test_a_check_in_the_place_of_a_plan_is_known(fix: Fix) -> None:
    answer = fix("toolkit.nv-target-missing")
    assert answer.code == 2
    assert "sm120kit fix --only toolkit.nv-target-missing" in answer.err


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

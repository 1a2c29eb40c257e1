"""``fix``, ``undo``, ``history`` over a tiny toolkit, in this process."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.fix.conftest import EMPTY, Fix
from tests.pictures import picture


def test_a_dry_run_shows_the_plan_and_writes_nothing(fix: Fix, tmp_path: Path) -> None:
    before = picture(tmp_path)
    answer = fix()
    assert answer.code == 1
    for words in ("toolkit.cudart-unlinkable", "The toolkit of links is made of", "Nothing was written"):
        assert words in answer.out
    assert f", with --cuda-home {fix.tiny.cuda_home}" in " ".join(answer.out.split())
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


def test_what_is_named_about_a_repair_leads_to_its_data_folder(fix: Fix) -> None:
    fix.applied()
    out = fix.run("doctor", *fix.target).out
    assert f"sm120kit run --site-packages {fix.tiny.site_packages} --data-dir {fix.data_dir} -- COMMAND" in out
    (fix.tiny.cuda_home / "bin/ptxas").write_bytes(b"another")
    assert f"sm120kit undo --data-dir {fix.data_dir}" in fix.run("doctor", *fix.target).out


def test_undo_says_who_may_still_use_what_it_took_away(fix: Fix, monkeypatch: pytest.MonkeyPatch) -> None:
    current = fix.applied()["plan"]["current"]
    (fix.tiny.cuda_home / "nvvm/libdevice/libdevice.10.bc").write_bytes(b"CB")
    fix.applied()
    assert [line for line in fix.run("history").out.splitlines() if line.endswith("live")][-1].endswith("applied, live")
    assert "repair 1 is the live one of this target now" in fix.run("undo").err
    assert "sm120kit_restore" in fix.run("undo").err
    monkeypatch.setenv("CUDA_HOME", current)
    site = ["--no-system-toolkits", "--site-packages", str(fix.tiny.site_packages)]
    (fix.tiny.site_packages / "sglang-0.5.13.dist-info").mkdir()
    missing = fix.run("doctor", "--only", "toolkit.nvcc-missing", *site)
    assert "sm120kit_restore" in missing.out


def test_in_place_names_the_toolkit_that_is_to_be_used(fix: Fix) -> None:
    answer = fix("--apply", "--in-place")
    assert answer.code == 0, answer.err
    assert f"    export CUDA_HOME={fix.tiny.cuda_home}" in answer.out.splitlines()
    assert "applied, inside the toolkit itself" in fix.run("history").out
    env = fix.run("env", *fix.target)
    assert "no toolkit of links is live for" in env.err


def test_what_a_repair_was_made_for_is_remembered(fix: Fix) -> None:
    (fix.tiny.site_packages / "flashinfer_python-0.6.7.post2.dist-info").mkdir()
    plain = fix.run("env", *fix.target).out
    assert fix("--apply", "--gpu", "12.0").code == 0
    after = fix.run("env", *fix.target).out
    assert "12.0f" in after
    assert "12.0f" not in plain
    assert after == fix.run("env", "--gpu", "12.0", *fix.target).out
    assert "9.0" in fix.run("env", "--gpu", "9.0", *fix.target).out
    # A journal that cannot be read keeps nobody from the variables.
    (fix.data_dir / "journal/0001/record.json").write_text("{")
    assert fix.run("env", *fix.target).code == 0


def test_a_script_that_is_run_says_that_it_is_to_be_sourced(fix: Fix) -> None:
    script = fix.applied()["env_script"]
    ran = subprocess.run(["bash", script], capture_output=True, text=True, check=True)
    assert ran.stderr == f"{script} changes nothing when it is run. Source it: . {script}\n"
    sourced = subprocess.run(["bash", "-euc", '. "$1"', "sh", script], capture_output=True, text=True, check=True)
    assert sourced.stderr == ""


def test_a_repair_that_was_cut_off_is_told(fix: Fix) -> None:
    assert fix("--apply").code == 0
    (fix.data_dir / "journal/0001/status").write_text("applying\n")
    assert "repair 1 of" in fix.run("toolkits").err
    assert "repair 1 is being applied or taken back right now, or was cut off" in fix.run("doctor", *fix.target).err
    assert "was cut off: sm120kit undo takes back what was done" in fix.run("env", *fix.target).err


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("fix", "--dry-run"), "Without --apply it writes nothing."),
        (("fix", "-y"), "--apply carries the plan out."),
        (("history", "2"), "to take one of them back: sm120kit undo N."),
    ],
)
def test_what_others_call_it_is_known(sm120kit: Command, typed: tuple[str, ...], words: str) -> None:
    answer = sm120kit(*typed)
    assert answer.code == 2
    assert words in " ".join(answer.err.split())

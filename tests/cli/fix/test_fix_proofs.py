"""Proofs of a repair, and ``prove`` alone, over a tiny toolkit."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.cli.conftest import Answer, Command
from tests.cli.fix.conftest import EMPTY, Fix
from tests.tiny_toolkit import make_tiny_toolkit


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
    stands_in = f"the repair of this target, which stands in for {fix.tiny.cuda_home}"
    assert stands_in not in " ".join(answer.out.split())
    assert stands_in in " ".join(fix.run("prove", *fix.target).out.split())
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


def test_a_failed_proof_names_the_wheels_that_lost_files(fix: Fix, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fix("--apply").code == 0
    (fix.tiny.cuda_home / "include/cccl/cub/version.cuh").unlink()
    monkeypatch.setenv("PLANT", "exit 1")
    answer = fix.run("prove", "--fresh", *fix.target)
    assert answer.code == 1
    assert "pip install --force-reinstall --no-deps nvidia-cuda-cccl==13.0.85" in answer.out
    assert "no repair is known" not in answer.out


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

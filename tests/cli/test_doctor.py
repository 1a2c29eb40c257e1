"""``sm120kit doctor`` on saved snapshots: outputs, exit codes, options that contradict each other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from jsonschema import Draft202012Validator

from sm120kit.report.schema import json_schema
from tests.builders import host_without_gpu, known, named, no_driver, snapshot, toolkit
from tests.cli.conftest import Command, Saved

CHECK = "toolkit.nv-target-missing"
BROKEN = named(toolkits=(toolkit(cccl=None),))
NOTHING = snapshot(toolkits=(), link_probes=(), driver=no_driver(), host=host_without_gpu(), distributions=known(()))

OwnChecks = Callable[[str], str]


def test_good(sm120kit: Command, saved: Saved) -> None:
    answer = sm120kit("doctor", "--snapshot", saved(named()))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("/srv/venv/bin/python (--python)")
    assert "Good: nothing wrong was found" in answer.out


def test_broken(sm120kit: Command, saved: Saved) -> None:
    answer = sm120kit("doctor", "--snapshot", saved(BROKEN), "--only", CHECK)
    assert (answer.code, answer.err) == (1, "")
    assert "/srv/venv/bin/python -m pip install nvidia-cuda-cccl==13.0.85" in [
        line.strip() for line in answer.out.splitlines()
    ]
    assert f"sm120kit explain {CHECK}" in answer.out


def test_nothing_to_look_at_is_said_to_be_unknown(sm120kit: Command, saved: Saved) -> None:
    path = saved(NOTHING)
    answer = sm120kit("doctor", "--snapshot", path)
    assert answer.code == 0
    assert "No GPU could be asked" in answer.out
    assert "No CUDA toolkit was judged" in answer.out
    assert "Good" not in answer.out
    assert sm120kit("doctor", "--snapshot", path, "--fail-on", "unknown").code == 1


@pytest.mark.parametrize("arguments", [("--json",), ("--format", "json"), ("--json", "--format", "json", "-v")])
def test_json_is_the_data_alone(sm120kit: Command, saved: Saved, arguments: tuple[str, ...]) -> None:
    answer = sm120kit("doctor", "--snapshot", saved(BROKEN), *arguments)
    assert (answer.code, answer.err) == (1, "")
    data = json.loads(answer.out)
    Draft202012Validator(json_schema("report")).validate(data)
    assert CHECK in [finding["check"] for finding in data["findings"]]
    assert data["summary"]["verdict"] == "findings"


def test_every_format_has_the_same_exit_code(sm120kit: Command, saved: Saved) -> None:
    paths = saved(BROKEN, "broken.json"), saved(named(), "good.json")
    for form in ("text", "json", "junit", "markdown"):
        assert [sm120kit("doctor", "--snapshot", path, "--format", form).code for path in paths] == [1, 0]


def test_junit_and_markdown(sm120kit: Command, saved: Saved) -> None:
    path = saved(BROKEN)
    suites = fromstring(sm120kit("doctor", "--snapshot", path, "--format", "junit").out)
    failed = [case.get("name") for case in suites.iter("testcase") if case.find("failure") is not None]
    assert "nv-target-missing" in failed
    assert sm120kit("doctor", "--snapshot", path, "--format", "markdown").out.startswith("# sm120kit doctor")


def test_a_file_gets_the_report(sm120kit: Command, saved: Saved, tmp_path: Path) -> None:
    output = tmp_path / "report.txt"
    answer = sm120kit("doctor", "--snapshot", saved(BROKEN), "-o", str(output))
    assert (answer.code, answer.out, answer.err) == (1, "", "")
    assert CHECK in output.read_text()
    answer = sm120kit("doctor", "--snapshot", saved(BROKEN), "-o", str(tmp_path))
    assert answer.code == 2
    assert "cannot be written: Is a directory" in answer.err


@pytest.mark.parametrize("command", ["doctor", "smoke", "snapshot", "why", "plan", "diff", "env"])
def test_that_a_file_has_no_folder_is_said_before_anything_is_read(
    command: str, sm120kit: Command, tmp_path: Path
) -> None:
    words = ("x", "y")[: {"why": 1, "diff": 2}.get(command, 0)]
    answer = sm120kit(command, *words, "-o", str(tmp_path / "nodir/x"))
    assert (answer.code, answer.out) == (2, "")
    assert f"cannot be written: there is no folder {tmp_path}/nodir" in answer.err


@pytest.mark.parametrize("command", ["doctor", "smoke"])
def test_a_file_whose_name_says_another_format(command: str, sm120kit: Command, saved: Saved, tmp_path: Path) -> None:
    asked = (command, "--snapshot", saved(named()))
    for ending, form in (("xml", "junit"), ("json", "json"), ("md", "markdown")):
        output = str(tmp_path / f"x.{ending}")
        answer = sm120kit(*asked, "-o", output)
        assert answer.err == f"sm120kit: {output} is written as text\n  For what its name says: --format {form}\n"
        assert sm120kit(*asked, "-o", output, "--format", "text").err == ""


def test_only_and_skip(sm120kit: Command, saved: Saved) -> None:
    path = saved(BROKEN)
    ran = json.loads(sm120kit("doctor", "--snapshot", path, "--json", "--only", "torch.*").out)["checks"]
    assert ran
    assert all(each["check"].startswith("torch.") for each in ran)
    assert sm120kit("doctor", "--snapshot", path, "--skip", "toolkit.*").code == 0
    answer = sm120kit("doctor", "--snapshot", path, "--only", "toolkit.nv-target-mising")
    assert (answer.code, answer.out) == (2, "")
    assert f"Did you mean {CHECK}" in answer.err


def test_suppressions_count_for_no_exit_code_and_stay_in_the_data(
    sm120kit: Command, saved: Saved, tmp_path: Path
) -> None:
    file = tmp_path / "suppressions.toml"
    only = ("doctor", "--snapshot", saved(BROKEN), "--only", CHECK, "--suppressions", str(file))
    file.write_text(f'[[suppress]]\ncheck = "{CHECK}"\nreason = "known"\nexpires = 2999-01-01\n')
    assert sm120kit(*only).code == 0
    data = json.loads(sm120kit(*only, "--json").out)
    assert [each["suppressed"] for each in data["findings"]] == [True]
    assert data["summary"]["suppressed"] == 1
    text = " ".join(sm120kit(*only).out.split())
    assert f"{CHECK}, because: known" in text
    assert "Good: nothing wrong was found but what is suppressed (1 check, 1 suppressed)." in text
    file.write_text(f'[[suppress]]\ncheck = "{CHECK}"\nreason = "known"\nexpires = 2020-01-01\n')
    answer = sm120kit(*only)
    assert answer.code == 1
    assert "ended on 2020-01-01" in answer.out
    file.write_text('[[suppress]]\ncheck = "toolkit.nv-traget-missing"\nreason = "known"\n')
    answer = sm120kit(*only)
    assert answer.code == 1
    assert f"suppresses toolkit.nv-traget-missing, which matches no check\n  Did you mean {CHECK}" in answer.err
    file.write_text('[[suppress]]\ncheck = "x.y"\n')
    answer = sm120kit(*only)
    assert (answer.code, answer.out) == (2, "")
    assert "number 1 has no reason" in answer.err


def test_checks_of_a_folder_run_too(sm120kit: Command, saved: Saved, own_checks: OwnChecks) -> None:
    folder = own_checks('yield error("here", "our rule is broken", [at("a fact", "/a/place")])')
    answer = sm120kit("doctor", "--snapshot", saved(named()), "--checks-dir", folder)
    assert answer.code == 1
    assert "our rule is broken" in answer.out


def test_a_finding_of_an_own_check_is_explained_from_its_folder(
    sm120kit: Command, saved: Saved, own_checks: OwnChecks
) -> None:
    folder = own_checks('yield error("here", "our rule is broken", [at("a fact", "/a/place")])')
    answer = sm120kit("doctor", "--snapshot", saved(named()), "--checks-dir", folder)
    assert f"  sm120kit explain site.own --checks-dir {folder}\n" in answer.out
    assert sm120kit("explain", "site.own", "--checks-dir", folder).code == 0


def test_own_checks_that_are_not_whole_are_told_of(
    sm120kit: Command, saved: Saved, own_checks: OwnChecks, tmp_path: Path
) -> None:
    asked = ("doctor", "--snapshot", saved(named()), "--checks-dir")
    folder = own_checks("pass")
    assert sm120kit(*asked, folder).err == ""
    own = Path(folder, "own.py")
    own.write_text(own.read_text().replace("## Remedy\n", "").replace("## Sources", "## Source"))
    said = f"{own}: its page lacks ## Remedy, ## Sources and has ## Source, which no page has\n"
    assert sm120kit(*asked, folder).err == f"sm120kit: {said}"
    assert sm120kit("checks", "--checks-dir", folder).err == f"sm120kit: {said}"
    own.write_text("def unmarked(case):\n    yield from ()\n")
    assert f"sm120kit: {own} holds no check: none of its functions is marked" in sm120kit(*asked, folder).err
    own.rename(own.with_name("_shared.py"))
    assert sm120kit(*asked, folder).err == ""
    (tmp_path / "empty").mkdir()
    answer = sm120kit(*asked, str(tmp_path / "empty"))
    assert (answer.code, answer.out) == (2, "")
    assert "empty holds no check" in answer.err


def test_a_check_that_crashes_is_3_with_a_file_and_the_others_go_on(
    sm120kit: Command, saved: Saved, own_checks: OwnChecks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = own_checks("raise KeyError('nvcc')")
    answer = sm120kit("doctor", "--snapshot", saved(BROKEN), "--checks-dir", folder, "--fail-on", "never")
    assert answer.code == 3
    assert CHECK in answer.out
    assert f"crashed KeyError: 'nvcc' ({folder}/own.py:" in " ".join(answer.out.split())
    line = int(re.findall(r"own\.py:(\d+)", answer.out)[0])
    assert "raise KeyError" in Path(folder, "own.py").read_text().splitlines()[line - 1]
    path = Path(re.findall(r"\S+sm120kit-crash-\S+\.txt", answer.err)[0])
    assert "raise KeyError('nvcc')" in path.read_text()
    assert "Traceback" not in answer.out + answer.err


def test_named_hardware_is_judged(sm120kit: Command, saved: Saved) -> None:
    path = saved(NOTHING)
    answer = sm120kit("doctor", "--snapshot", path, "--gpu", "rtx-pro-6000x8", "--driver", "580.95.05")
    assert "judged for 8 x rtx-pro-6000" in answer.out
    assert "No GPU could be asked" not in answer.out
    assert sm120kit("doctor", "--snapshot", path, "--gpu", "rtx-pro-60000").code == 2
    answer = sm120kit("doctor", "--snapshot", path, "--driver", "newest")
    assert answer.code == 2
    assert "--driver newest is no driver version" in answer.err


@pytest.mark.parametrize(
    "option",
    [
        ("--python", "/usr/bin/python3"),
        ("--site-packages", "/tmp"),
        ("--root", "/tmp"),
        ("--cuda-home", "/usr/local/cuda"),
        ("--no-system-toolkits",),
        ("--env-file", "/proc/self/environ"),
        ("--pid", "1"),
        ("--deep",),
    ],
)
def test_a_snapshot_was_read_already(sm120kit: Command, saved: Saved, option: tuple[str, ...]) -> None:
    answer = sm120kit("doctor", "--snapshot", saved(named()), *option)
    assert (answer.code, answer.out) == (2, "")
    assert f"--snapshot and {option[0]} contradict each other" in answer.err


def test_json_and_another_format_contradict(sm120kit: Command, saved: Saved) -> None:
    answer = sm120kit("doctor", "--snapshot", saved(named()), "--json", "--format", "junit")
    assert (answer.code, answer.out) == (2, "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ('{"schema": "sm120kit.snapshot/1", "tool', "cut short"),
        ('{"schema": "sm120kit.snapshot/2"}', "sm120kit.snapshot/2"),
        ('{"schema": "sm120kit.report/1"}', "no snapshot"),
        ("\x1b[2J", "no JSON"),
    ],
)
def test_a_snapshot_that_is_none_is_one_line_and_4(sm120kit: Command, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "given.json"
    path.write_text(text)
    answer = sm120kit("doctor", "--snapshot", str(path))
    assert (answer.code, answer.out) == (4, "")
    message, hint = answer.err.splitlines()
    assert said in message
    assert hint.strip()
    assert "\x1b" not in answer.err


def test_hostile_text_in_a_snapshot_is_shown_and_not_obeyed(sm120kit: Command, saved: Saved) -> None:
    evil = "/opt/\x1b]0;owned\x07[bold]x[/bold]\n\u202e\udce9"
    tree = toolkit(evil, cccl=None)
    path = saved(named(evil, toolkits=(tree,), environment={"CUDA_HOME": evil}))
    for form in ("text", "markdown", "junit", "json"):
        answer = sm120kit("doctor", "-v", "--snapshot", path, "--format", form)
        assert answer.code == 1
        assert "\x1b" not in answer.out
        assert "[bold]x" in answer.out.replace("\\[", "[").replace("\\]", "]")

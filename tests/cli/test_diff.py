"""``sm120kit diff``: what changed, and an exit code that says whether it got worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sm120kit.report.schema import json_schema
from sm120kit.snapshot.types.snapshot import Target
from tests.builders import CU13, GIB, distribution, host, known, named, toolkit
from tests.cli.conftest import Command, Saved

CHECK = "toolkit.nv-target-missing"
HEALTHY = named()
BROKEN = named(toolkits=(toolkit(cccl=None),))


def test_no_difference(sm120kit: Command, saved: Saved) -> None:
    busy = named(host=host(memory_available=known(GIB)))
    answer = sm120kit("diff", saved(HEALTHY, "a.json"), saved(busy, "b.json"))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[-1] == "No difference."


def test_worse(sm120kit: Command, saved: Saved) -> None:
    answer = sm120kit("diff", saved(HEALTHY, "a.json"), saved(BROKEN, "b.json"))
    assert answer.code == 1
    assert "error    nv/target is not on the include path" in answer.out
    assert f"toolkit {CU13} cccl" in answer.out
    assert "It got worse: " in answer.out
    assert "1 finding came, 0 findings went." in answer.out


def test_better(sm120kit: Command, saved: Saved) -> None:
    answer = sm120kit("diff", saved(BROKEN, "a.json"), saved(HEALTHY, "b.json"))
    assert answer.code == 0
    assert "gone     nv/target is not on the include path" in answer.out
    assert "It did not get worse: " in answer.out


def test_a_change_without_findings_is_0(sm120kit: Command, saved: Saved) -> None:
    newer = named(distributions=known((distribution("torch", "2.14.1"), distribution("numpy", "2.4.0"))))
    answer = sm120kit("diff", saved(HEALTHY, "a.json"), saved(newer, "b.json"))
    assert answer.code == 0
    shown = [line.strip() for line in answer.out.splitlines()]
    place = shown.index("package numpy")
    assert shown[place + 1 : place + 3] == ["was  absent", "is   2.4.0"]


def test_json(sm120kit: Command, saved: Saved, tmp_path: Path) -> None:
    pair = saved(HEALTHY, "a.json"), saved(BROKEN, "b.json")
    answer = sm120kit("diff", *pair, "--json")
    data = json.loads(answer.out)
    Draft202012Validator(json_schema("comparison")).validate(data)
    assert (answer.code, data["worse"]) == (1, True)
    assert [each["check"] for each in data["appeared"]] == [CHECK]
    answer = sm120kit("diff", *pair, "--json", "-o", str(tmp_path / "diff.json"))
    assert (answer.code, answer.out) == (1, "")
    assert json.loads((tmp_path / "diff.json").read_text()) == data


def test_suppressed_findings_make_nothing_worse(sm120kit: Command, saved: Saved, tmp_path: Path) -> None:
    file = tmp_path / "suppressions.toml"
    file.write_text(f'[[suppress]]\ncheck = "{CHECK}"\nreason = "known"\n')
    pair = saved(HEALTHY, "a.json"), saved(BROKEN, "b.json")
    assert sm120kit("diff", *pair, "--suppressions", str(file)).code == 0


def test_snapshot_stands_in_for_the_target(sm120kit: Command, saved: Saved) -> None:
    assert sm120kit("diff", saved(HEALTHY, "a.json"), "--snapshot", saved(BROKEN, "b.json")).code == 1


@pytest.mark.parametrize("option", [("--snapshot", "/c.json"), ("--python", "/usr/bin/python3")])
def test_two_things_to_compare_with_are_refused(sm120kit: Command, saved: Saved, option: tuple[str, ...]) -> None:
    answer = sm120kit("diff", saved(HEALTHY, "a.json"), saved(BROKEN, "b.json"), *option)
    assert (answer.code, answer.out) == (2, "")
    assert f"{option[0]} and B both say" in answer.err


def test_a_file_that_is_no_snapshot_is_4(sm120kit: Command, saved: Saved, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    answer = sm120kit("diff", saved(HEALTHY), str(tmp_path / "other.json"))
    assert (answer.code, answer.out) == (4, "")
    assert "other.json" in answer.err


def test_two_targets_are_said_first(sm120kit: Command, saved: Saved) -> None:
    other = named(target=Target(kind="site-packages", path="/srv/other", why="named"))
    pair = saved(HEALTHY, "a.json"), saved(other, "b.json")
    assert sm120kit("diff", *pair).out.startswith("These are two targets, not one at two times")
    assert json.loads(sm120kit("diff", *pair, "--json").out)["two_targets"] is True
    same = sm120kit("diff", pair[0], pair[0], "--json")
    assert json.loads(same.out)["two_targets"] is False


def test_now_is_the_target_of_the_snapshot(sm120kit: Command, tmp_path: Path) -> None:
    site, taken = tmp_path / "lib/python3.12/site-packages", str(tmp_path / "a.json")
    (site / "some-1.0.dist-info").mkdir(parents=True)
    assert sm120kit("snapshot", "--site-packages", str(site), "--no-system-toolkits", "-o", taken).code == 0
    (site / "some-1.0.dist-info").rename(site / "some-1.1.dist-info")
    answer = json.loads(sm120kit("diff", taken, "--json").out)
    assert (answer["two_targets"], answer["after"]) == (False, f"{site} (as before)")
    assert [each["what"] for each in answer["changes"]] == ["package some"]
    site.rename(tmp_path / "gone")
    assert json.loads(sm120kit("diff", taken, "--json").out)["two_targets"] is True

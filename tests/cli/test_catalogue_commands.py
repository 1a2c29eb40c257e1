"""``explain``, ``checks`` and ``schema``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sm120kit.report.schema import DOCUMENTS, json_schema
from tests.cli.conftest import Command

CHECK = "toolkit.nv-target-missing"


def test_explain_prints_the_page_and_the_words_of_a_log(sm120kit: Command) -> None:
    answer = sm120kit("explain", CHECK)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"{CHECK}\n\nnv/target is not found")
    for piece in ("## Remedy", "## Sources", "## In a log", "fatal error: nv/target: No such file or directory"):
        assert piece in answer.out


def test_explain_names_the_nearest(sm120kit: Command) -> None:
    answer = sm120kit("explain", "toolkit.nv-target")
    assert (answer.code, answer.out) == (2, "")
    assert CHECK in answer.err


def test_explain_and_checks_know_checks_of_a_folder(sm120kit: Command, own_checks: Callable[[str], str]) -> None:
    folder = own_checks("pass")
    assert "A rule of this site" in sm120kit("explain", "site.own", "--checks-dir", folder).out
    assert "site.own" in sm120kit("checks", "--checks-dir", folder).out
    assert "site.own" not in sm120kit("checks").out


def test_checks_lists_ids_and_titles(sm120kit: Command) -> None:
    answer = sm120kit("checks")
    assert (answer.code, answer.err) == (0, "")
    ids = [line.split()[0] for line in answer.out.splitlines() if line and not line.startswith(" ")]
    assert ids == sorted(ids)
    assert {CHECK, "server.port-in-use"} <= set(ids)


def test_checks_of_one_family(sm120kit: Command) -> None:
    for glob in ("toolkit", "toolkit.*"):
        ids = [each["id"] for each in json.loads(sm120kit("checks", glob, "--json").out)["checks"]]
        assert CHECK in ids
        assert all(each.startswith("toolkit.") for each in ids)
    assert CHECK in sm120kit("checks", "*nv-target*").out
    answer = sm120kit("checks", "tolkit")
    assert (answer.code, answer.out) == (2, "")
    assert "Did you mean toolkit" in answer.err


def test_checks_as_data(sm120kit: Command) -> None:
    data = json.loads(sm120kit("checks", "--json").out)
    Draft202012Validator(json_schema("checks")).validate(data)
    assert data["schema"] == "sm120kit.checks/1"
    (one,) = [each for each in data["checks"] if each["id"] == CHECK]
    assert one["title"].startswith("nv/target")
    assert "## Remedy" in one["page"]
    assert one["signatures"][0]["rank"] == "cause"


def test_a_page_cannot_command_the_terminal(sm120kit: Command, own_checks: Callable[[str], str]) -> None:
    folder = own_checks("pass; __doc__ = 1")
    assert sm120kit("explain", "site.own", "--checks-dir", folder).code == 0


def test_every_schema_can_be_asked_for_and_is_named(sm120kit: Command) -> None:
    told = " ".join(sm120kit("schema", "--help").out.split())
    assert not [name for name in DOCUMENTS if not re.search(rf"\b{name}\b", told)]
    assert not [name for name in DOCUMENTS if sm120kit("schema", name).code != 0]


def test_variables_as_data(sm120kit: Command, tmp_path: Path) -> None:
    answer = sm120kit("env", "--shell", "json", "--no-system-toolkits", "--site-packages", str(tmp_path))
    Draft202012Validator(json_schema("environment")).validate(json.loads(answer.out))


@pytest.mark.parametrize("document", ["report", "snapshot", "comparison", "why"])
def test_schema(sm120kit: Command, document: str) -> None:
    answer = sm120kit("schema", document)
    assert (answer.code, answer.err) == (0, "")
    Draft202012Validator.check_schema(json.loads(answer.out))
    assert json.loads(answer.out)["title"] == f"sm120kit.{document}/1"


def test_schema_is_of_the_report_unless_told(sm120kit: Command) -> None:
    assert json.loads(sm120kit("schema").out)["title"] == "sm120kit.report/1"

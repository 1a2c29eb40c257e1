"""``sm120kit why``: exit codes, data, and log and environment judged together."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sm120kit.report.schema import json_schema
from tests.builders import named, probe, toolkit
from tests.cli.conftest import Command, Saved

LOGS = Path(__file__).resolve().parent.parent / "logs"
LINK = str(LOGS / "toolkit.cudart-unlinkable__flashinfer.log")
HEALTHY = str(LOGS / "healthy__0.5.23.log")
UNKNOWN = str(LOGS / "unknown__plugin.log")


@pytest.mark.parametrize(("log", "code"), [(HEALTHY, 0), (LINK, 1), (UNKNOWN, 4)])
def test_exit_codes(sm120kit: Command, log: str, code: int) -> None:
    text, data = sm120kit("why", log), sm120kit("why", log, "--json")
    assert (text.code, text.err) == (code, "")
    assert (data.code, data.err) == (code, "")


@pytest.mark.parametrize("log", sorted(LOGS.glob("*.log")), ids=lambda path: path.stem)
def test_data_fits_its_schema(sm120kit: Command, log: Path) -> None:
    data = json.loads(sm120kit("why", str(log), "--json").out)
    Draft202012Validator(json_schema("why")).validate(data)
    assert data["schema"] == "sm120kit.why/1"
    assert data["known"] is bool(data["causes"])
    for cause in data["causes"]:
        assert {"check", "message", "line", "text", "remedies"} <= cause.keys()


def test_text_shows_cause_line_and_remedy(sm120kit: Command) -> None:
    out = sm120kit("why", LINK).out
    for piece in (
        "toolkit.cudart-unlinkable",
        "12: /usr/bin/ld: cannot find -lcudart",
        "and 1 more",
        "sm120kit explain",
    ):
        assert piece in out
    assert out.index("-lcudart: No") < out.index("-lcuda: No")
    assert "mem-fraction-static" not in out


def test_text_about_what_is_not_known_ends_with_an_issue(sm120kit: Command) -> None:
    out = sm120kit("why", UNKNOWN).out
    assert out.index("WidgetError") < out.index("# Server fails: frobnicator")
    for secret in ("not-to-be-seen", "sk-abc", "hf_abc"):
        assert secret not in out


def test_standard_input(sm120kit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "piped"
    path.write_bytes(Path(LINK).read_bytes())
    with path.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        answer = sm120kit("why", "-", "--json")
    assert (answer.code, json.loads(answer.out)["log"]) == (1, "standard input")


def test_a_log_cannot_command_the_terminal(sm120kit: Command, tmp_path: Path) -> None:
    path = tmp_path / "evil.log"
    path.write_bytes(b"ValueError: \x1b]0;owned\x07 \x9b31m [bold]x[/bold] \xe2\x80\xae\n")
    answer = sm120kit("why", str(path))
    assert answer.code == 4
    assert "[bold]x[/bold]" in answer.out
    for control in ("\x1b", "\x07", "\x9b", "\u202e"):
        assert control not in answer.out


@pytest.mark.parametrize("name", ["none.log", "."])
def test_what_cannot_be_read_is_one_line(sm120kit: Command, tmp_path: Path, name: str) -> None:
    answer = sm120kit("why", str(tmp_path / name))
    assert (answer.code, answer.out) == (4, "")
    assert str(tmp_path) in answer.err


def test_log_and_snapshot_cannot_both_be_standard_input(sm120kit: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert sm120kit("why", "-", "--snapshot", "-").code == 2


def test_the_target_says_which_of_two_causes_it_is(sm120kit: Command, saved: Saved) -> None:
    broken = saved(named(toolkits=(toolkit(link_names=()),), link_probes=(probe(missing=("cudart",)),)))
    data = json.loads(sm120kit("why", LINK, "--json", "--snapshot", broken).out)
    cudart, libcuda = data["causes"]
    assert cudart["on_target"]["outcome"] == "found"
    assert cudart["on_target"]["findings"][0]["check"] == "toolkit.cudart-unlinkable"
    assert cudart["remedies"] == cudart["on_target"]["findings"][0]["remedies"]
    assert libcuda["on_target"]["outcome"] == "ok"
    text = sm120kit("why", LINK, "--snapshot", broken).out
    assert cudart["on_target"]["findings"][0]["message"].split()[-1] in text
    assert "This target does not have that fault now" in text


def test_own_signatures_stand_beside_ours(sm120kit: Command, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        '"""The widget is upside down"""\n'
        "from sm120kit.diagnosis import LogRemedy, Signature, log_failure\n"
        'FAILURE = log_failure("site.widget")\n'
        "SIGNATURES = [Signature(\n"
        '    pattern=r"the (?P<what>\\w+) is upside down", rank="cause", example="the widget is upside down",\n'
        '    look_alike="the widget", source="ours", message="Turn the {what} over", remedies=(LogRemedy("so"),),\n'
        ")]\n"
    )
    answer = sm120kit("why", UNKNOWN, "--checks-dir", str(tmp_path))
    assert answer.code == 1
    assert "Turn the widget over" in answer.out
    assert "The widget is upside down" in sm120kit("explain", "site.widget", "--checks-dir", str(tmp_path)).out
    assert "site.widget" in sm120kit("checks", "--checks-dir", str(tmp_path)).out
    assert sm120kit("doctor", "--only", "site.widget", "--checks-dir", str(tmp_path)).code == 2


def test_a_signature_that_is_no_pattern_is_one_line(sm120kit: Command, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from sm120kit.diagnosis import Signature, log_failure\n"
        'FAILURE = log_failure("site.bad")\n'
        'SIGNATURES = [Signature(pattern="(", rank="cause", example="", look_alike="", source="")]\n'
    )
    answer = sm120kit("why", UNKNOWN, "--checks-dir", str(tmp_path))
    assert answer.code == 2
    assert "own.py" in answer.err

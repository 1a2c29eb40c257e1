"""The report for people: what it says, in which order, and that nothing in it obeys a stranger."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm120kit.diagnosis.types import Evidence, Manual, Severity, Suppression
from sm120kit.report.terminal import render_terminal
from tests.builders import flashinfer, no_driver, snapshot
from tests.reports import crashed, finding, found, not_applicable, ok, report, unknown

LONG = "/srv/venv/lib/python3.12/site-packages/nvidia/cu13/include/cccl/cuda/std/__cccl/version.h"
COMMAND = "pip install " + " ".join(f"nvidia-cuda-part-{number}==13.0.88" for number in range(12))


def lines(text: str) -> list[str]:
    """Lines without their indentation."""
    return [line.strip() for line in text.splitlines()]


def test_good_is_two_lines() -> None:
    text = render_terminal(report(ok(), not_applicable()))
    assert lines(text)[0].startswith("/srv/venv/bin/python (--python)")
    assert lines(text)[-1] == "Good: nothing wrong was found (2 checks, 1 did not apply)."
    assert len(text.splitlines()) <= 3


def test_a_finding_shows_message_id_evidence_and_remedies() -> None:
    text = render_terminal(report(found(finding())))
    shown = lines(text)
    assert "error    a part of /opt/cuda is missing" in shown
    assert "toolkit.broken" in shown
    assert "seen   no cicc  /opt/cuda/nvvm/bin/cicc  from nvidia-nvvm 13.0.88" in shown
    assert "fix    Compose a toolkit view (sm120kit fix does this)" in shown
    assert "or     Install the wheel that holds it" in shown
    assert "pip install nvidia-nvvm==13.0.88" in shown
    assert "Found 1 error (1 check)." in shown
    assert any(line.startswith("sm120kit fix ") for line in shown)
    assert any(line.startswith("sm120kit explain toolkit.broken") for line in shown)


def test_a_report_without_a_repair_does_not_speak_of_one() -> None:
    text = render_terminal(report(found(finding(remedies=[Manual("Update the driver")]))))
    assert "sm120kit fix" not in text
    assert "fix    Update the driver" in text


def test_worst_comes_first() -> None:
    text = render_terminal(
        report(found(finding("a.note", Severity.NOTE)), found(finding("b.warning", Severity.WARNING)), found(finding()))
    )
    places = [text.index(word) for word in ("error ", "warning ", "note ")]
    assert places == sorted(places)
    assert "Found 1 error and 1 warning (3 checks, 1 note)." in text


def test_a_note_shows_its_evidence_only_when_asked() -> None:
    made = report(found(finding(severity=Severity.NOTE)))
    short, whole = render_terminal(made), render_terminal(made, verbose=True)
    assert "no cicc" not in short
    assert "-v" in short
    assert "no cicc" in whole


def test_several_lines_of_evidence_stay_lines() -> None:
    words = "/usr/bin/ld: cannot find -lcudart\n/usr/bin/ld: cannot find -lcuda\n"
    shown = lines(render_terminal(report(found(finding(evidence=[Evidence(words, "c++ -shared")])))))
    assert "seen   /usr/bin/ld: cannot find -lcudart  c++ -shared" in shown
    assert "/usr/bin/ld: cannot find -lcuda" in shown


def test_a_line_number_follows_its_file() -> None:
    text = render_terminal(report(found(finding(evidence=[Evidence("CUDART_VERSION 13020", "/opt/cuda.h", 42)]))))
    assert "/opt/cuda.h:42" in text


def test_what_could_not_be_told_is_said_once_with_all_checks() -> None:
    made = report(unknown("driver.one"), unknown("driver.two"), snapshot=snapshot(toolkits=(), driver=no_driver()))
    text = render_terminal(made)
    assert text.count("NVML did not answer") == 1
    assert "driver.one, driver.two" in text
    assert "No GPU could be asked" in text
    assert "Unknown: nothing wrong was seen, and not everything could be judged" in " ".join(lines(text))
    assert "Good" not in text


def test_what_goes_back_to_a_doubt_stands_under_it_unless_all_is_asked_for() -> None:
    why = "no libnvidia-ml.so.1 on the loader's path"
    made = report(
        unknown("driver.one", "driver", f"its version is not known: {why}"),
        unknown("driver.two", reason="another reason"),
        snapshot=snapshot(consumers=(flashinfer(),), driver=no_driver()),
    )
    shown = lines(render_terminal(made))
    assert len([line for line in shown if line.startswith("unknown")]) == 2
    assert "driver.one" in shown
    assert "unknown  driver: another reason" in shown
    assert "its version is not known" not in " ".join(shown)
    assert "its version is not known" in render_terminal(made, verbose=True)


def test_a_crashed_check_is_said() -> None:
    text = render_terminal(report(crashed(), ok()))
    assert "crashed  KeyError: 'nvcc'" in text
    assert "toolkit.faulty" in text
    assert "1 check stopped by a fault in its code; the others went on (2 checks)." in text


def test_suppressed_findings_are_counted_and_marked() -> None:
    made = report(found(finding()), suppressions=[Suppression("toolkit.broken", "we live with it")])
    for verbose in (False, True):
        text = render_terminal(made, verbose=verbose)
        assert "Good: nothing wrong was found but what is suppressed (1 check, 1 suppressed)." in text
        assert f"error    suppressed: {finding().message}" in text
        assert "toolkit.broken, because: we live with it" in text
        assert "  seen" not in text


def test_expired_and_unused_suppressions_are_said() -> None:
    made = report(
        found(finding()),
        suppressions=[
            Suppression("toolkit.broken", "until May", expires="2026-05-01"),
            Suppression("a.b", "old", "/x"),
        ],
    )
    text = " ".join(lines(render_terminal(made)))
    assert "Suppression of toolkit.broken ended on 2026-05-01; its findings count again. It was: until May" in text
    assert "Suppression of a.b about /x covers nothing here. It is: old" in text


def test_verbose_shows_what_was_looked_at() -> None:
    text = render_terminal(report(ok(), not_applicable(), snapshot=snapshot(consumers=(flashinfer(),))), verbose=True)
    for piece in (
        "Which toolkit each installed package uses, and why",
        "flashinfer-python 0.7.2.post1",
        "bin/nvcc (nvidia-cuda-nvcc 13.0)",
        "580.95.05",
        "Looked at, and well",
        "toolkit.well",
        "torch is not installed",
    ):
        assert piece in text


@pytest.mark.parametrize("width", [20, 40, 72, 100, 200])
def test_paths_and_commands_are_never_broken(width: int) -> None:
    evidence = [Evidence("CCCL_VERSION 3000001", LONG, 7, "nvidia-cuda-cccl 13.0.85")]
    remedies = [Manual("Install all of them with one command, so that pip resolves them together", (COMMAND,))]
    text = render_terminal(
        report(found(finding(message=f"{LONG} is odd", evidence=evidence, remedies=remedies))), width=width
    )
    assert COMMAND in lines(text)
    assert text.count(LONG) == 2
    assert f"{LONG}:7" in text


@pytest.mark.parametrize("width", [40, 60, 100])
def test_prose_is_wrapped_to_the_width(width: int) -> None:
    words = " ".join(["word"] * 80)
    text = render_terminal(report(found(finding(message=words, remedies=[Manual(words)]))), width=width)
    assert all(len(line) <= width for line in text.splitlines() if "word" in line)
    assert text.count("word") == 160


def test_wide_characters_count_as_two_columns() -> None:
    text = render_terminal(report(found(finding(message="漢字 " * 40))), width=60)
    assert all(2 * line.count("漢") + 2 * line.count("字") <= 60 for line in text.splitlines())


def test_no_line_ends_with_a_space() -> None:
    text = render_terminal(report(found(finding()), unknown(), crashed(), ok()), verbose=True)
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_plain_has_no_escapes_and_colour_changes_no_word() -> None:
    made = report(found(finding()), unknown(), crashed(), ok())
    plain, coloured = render_terminal(made, verbose=True), render_terminal(made, verbose=True, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


HOSTILE = "\x1b]0;owned\x07\x1b[2J[bold red]x[/bold red] [/] :smile: \u202egnp.exe\r\nerror: fake\x9b31m \udce9"


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    made = report(
        found(
            finding(
                subject=HOSTILE,
                message=HOSTILE,
                evidence=[Evidence(HOSTILE, HOSTILE, 0, HOSTILE)],
                remedies=[Manual(HOSTILE, (HOSTILE,))],
            )
        ),
        unknown("a.b", HOSTILE, HOSTILE),
        not_applicable("a.c", HOSTILE),
        suppressions=[Suppression(HOSTILE, HOSTILE)],
        snapshot=snapshot(environment={"CUDA_HOME": HOSTILE}),
    )
    for verbose in (False, True):
        text = render_terminal(made, verbose=verbose)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\udce9]", text)
        assert "[bold red]x[/bold red] [/] :smile:" in text
        assert "\\x1b]0;owned\\x07" in text
        # A line break in a name starts no line that looks like one of ours.
        assert not [line for line in text.splitlines() if line.startswith("error: fake")]


@given(st.text(st.characters(codec=None)), st.integers(1, 150))
def test_any_text_at_any_width(text: str, width: int) -> None:
    made = report(found(finding(message=text, evidence=[Evidence(text, text)], remedies=[Manual(text, (text,))])))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", render_terminal(made, width=width))


def test_much_evidence_of_a_warning_does_not_bury_the_errors() -> None:
    pieces = tuple(Evidence(f"piece {number}", "/a/place") for number in range(9))
    for severity, shown in ((Severity.WARNING, 4), (Severity.ERROR, 9)):
        made = report(found(finding(severity=severity, evidence=pieces)))
        text = render_terminal(made)
        assert text.count("piece ") == shown
        assert ("and 5 more, with doctor -v" in text) == (shown == 4)
        assert render_terminal(made, verbose=True).count("piece ") == 9
    few = report(found(finding(severity=Severity.WARNING, evidence=pieces[:5])))
    assert render_terminal(few).count("piece ") == 5, "one more line would say no less"

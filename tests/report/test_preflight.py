"""Preflight as text."""

from __future__ import annotations

from msgspec.structs import replace

from sm120kit.diagnosis.types import Evidence, Finding, Manual, Severity
from sm120kit.fleet.preflight.types import Answer, Preflight
from sm120kit.report.fleet_words import REHEARSAL
from sm120kit.report.preflight import render_preflight

TAKEN = Finding(
    "launch.port-taken",
    Severity.ERROR,
    "port 30003",
    "Port 30003 is taken by process 4711 (python3)",
    (Evidence("listens on 127.0.0.1:30003", "/proc/net/tcp"),),
    (Manual("Take other ports", ("sm120kit launch --base-port 31000",)),),
)
FEWER = replace(TAKEN, check="launch.fewer-granted", severity=Severity.WARNING, message="37 of 64 will be granted")
REMARK = replace(TAKEN, check="launch.remark", severity=Severity.NOTE, message="worth knowing")
WELL = Answer("model", "/models/qwen: 12 files, complete")


def test_what_was_looked_at_and_what_stops_the_launch() -> None:
    said = render_preflight(
        Preflight((WELL, Answer("ports", "8 ports", (TAKEN,)), Answer("plan", "8 servers", (FEWER, REMARK)))),
        "qwen",
        rehearsal=False,
    )
    assert said.splitlines() == [
        "qwen: preflight",
        "  model  /models/qwen: 12 files, complete",
        "  ports  8 ports",
        "  plan   8 servers",
        "",
        "error    Port 30003 is taken by process 4711 (python3)",
        "         launch.port-taken",
        "",
        "  seen   listens on 127.0.0.1:30003  /proc/net/tcp",
        "",
        "  fix    Take other ports",
        "             sm120kit launch --base-port 31000",
        "",
        "warning  37 of 64 will be granted",
        "         launch.fewer-granted",
        "",
        "  seen   listens on 127.0.0.1:30003  /proc/net/tcp",
        "",
        "  fix    Take other ports",
        "             sm120kit launch --base-port 31000",
        "",
        "Refused: 1 error. Nothing was started.",
        "  sm120kit explain launch.port-taken  what that means and where it comes from",
        "  --force launch.port-taken           starts in spite of it",
    ]


def test_notes_are_for_those_who_ask() -> None:
    found = Preflight((Answer("plan", "8 servers", (REMARK,)),))
    assert "worth knowing" not in render_preflight(found, "qwen", rehearsal=False)
    assert "worth knowing" in render_preflight(found, "qwen", rehearsal=False, verbose=True)


def test_what_is_forced_is_shown_and_stops_nothing() -> None:
    found = Preflight((Answer("ports", "8 ports", (TAKEN,)),), forced=("launch.port-taken",))
    said = render_preflight(found, "qwen", rehearsal=False)
    assert "Port 30003 is taken" in said
    assert "--force launch.port-taken: the launch goes on in spite of it" in said
    assert "Refused" not in said


def test_a_rehearsal_says_so_first_and_last() -> None:
    said = render_preflight(Preflight((WELL,)), "qwen", rehearsal=True).splitlines()
    assert said[0] == said[-1] == REHEARSAL


def test_foreign_text_is_escaped() -> None:
    said = render_preflight(Preflight((Answer("model", "\x1b[2J\n"),)), "\x07", rehearsal=False)
    assert said == "\\x07: preflight\n  model  \\x1b[2J\\n\n"

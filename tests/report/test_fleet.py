"""A fleet as text."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sm120kit.fleet.types import Fleet, Verdict
from sm120kit.report.fleet import render_live, render_status, render_summary
from sm120kit.report.fleet_words import REHEARSAL, duration, numbers
from tests.fleets import START, death, event, fleet, passed, replica

EIGHT = fleet(*(replica(each, tokens_per_second=1180.0 + each, roofline_share=0.66 + each / 100) for each in range(8)))


def words(line: str) -> str:
    """The line with single spaces."""
    return " ".join(line.split())


def test_a_fleet_that_is_verified() -> None:
    said = render_summary(EIGHT, START + 60).splitlines()
    assert said[0] == "qwen: 8 servers of /models/qwen with SGLang 0.5.23, level load"
    assert words(said[1]) == "# GPU port state memory time requested predicted granted tokens/s"
    assert words(said[2]) == "0 0 30000 verified 88.0 GiB 0:59 64 37 37 1,180"
    assert words(said[9]) == "7 7 30007 verified 88.0 GiB 0:59 64 37 37 1,187"
    assert said[11:] == [
        "Verified: 8 of 8 at level load.",
        "  requests at a time  512 requested, 296 predicted, 296 granted",
        "  decoding            9,468 tokens/s in sum  66% to 73% of the roofline",
    ]


def test_a_fleet_that_has_ended_keeps_its_verdict() -> None:
    stopped = replica(0, "stopped", granted=37, before_end="verified")
    said = render_status(fleet(stopped, ended=True), START + 60)
    assert "\nWas verified: 1 of 1 at level load, until it was ended.\n" in said
    assert "64 requested, 37 predicted, 37 granted" in said
    unwell = replica(1, "failed", before_end="failed")
    said = render_status(fleet(stopped, unwell, ended=True), START + 60)
    assert "\nNot verified: 1 of 2 at level load when it was ended.\n" in said


def test_who_loads_says_what_it_is_at_and_how_long_it_will_take() -> None:
    coming = fleet(
        replica(0), replica(1, "loading", phase="weights", ready_s=None), replica(2, "waiting", started=None)
    )
    said = render_live(coming, START + 21).splitlines()
    assert words(said[3]) == "1 1 30001 loading weights 12.0 GiB 0:20 of 0:41 64 37"
    assert "of 0:41" not in said[2] + said[4]


def test_without_one_that_is_ready_there_is_no_estimate() -> None:
    said = render_live(fleet(replica(0, "loading", ready_s=None)), START + 21)
    assert "0:20" in said
    assert "of" not in said.splitlines()[2]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_no_line_of_the_table_is_wider_than_the_place(width: int) -> None:
    long = fleet(*(replica(each, "loading", phase="Capture cuda graph, 12 of 36 " * 4) for each in range(12)))
    said = render_live(long, START + 21, width=width).splitlines()
    table = said[-13:]
    assert max(map(len, table)) <= width
    assert "state" in table[0]


def test_what_is_against_a_fleet_is_shown_with_cause_remedy_and_log() -> None:
    short = Verdict("concurrency", False, "16 granted where 37 were predicted: the states take 13.8 GiB")
    unwell = fleet(
        replica(0, verdicts=passed()),
        replica(1, "failed", deaths=(death(at=START + 9, exit="signal SIGKILL"), death()), restarts=2),
        replica(2, "unverified", verdicts=(*passed("model"), short)),
    )
    said = render_summary(unwell, START + 60)
    assert "Not verified: 1 of 3 at level load." in said
    assert said[said.index("\nreplica 1") :].splitlines() == [
        "",
        "replica 1 on GPU 1, port 30001: failed",
        "  ended 2 times without being asked to; the last time:",
        "    exit  exit code 1",
        "    log   /state/r3.log",
        "    cause  the GPU has no room left for CUDA graphs",
        "           line 212: torch.OutOfMemoryError: CUDA out of memory",
        "    fix    Lower --mem-fraction-static",
        "    or     Lower --cuda-graph-max-bs",
        "           sm120kit explain memory.no-room-for-graphs",
        "",
        "replica 2 on GPU 2, port 30002: unverified",
        "  failed      concurrency: 16 granted where 37 were predicted: the states take 13.8 GiB",
        "  log         /state/fleets/qwen/logs/replica-2-1.log",
    ]
    assert "evidence of" not in said
    assert "passed      model: evidence of model" in render_summary(unwell, START + 60, verbose=True)


@pytest.mark.parametrize(("exit_words", "asks"), [("signal SIGKILL", True), ("signal SIGSEGV", False)])
def test_who_killed_a_server_whose_log_shows_no_cause_can_be_looked_up(exit_words: str, asks: bool) -> None:
    said = render_summary(fleet(replica(0, deaths=(death(exit=exit_words, causes=()),))), START + 60)
    assert "    cause: not known from its log" in said
    assert ("dmesg -T | grep -i 'killed process'" in " ".join(said.split())) is asks


def test_what_could_not_be_judged_is_said_once_for_all() -> None:
    unread = Verdict("memory", None, "no GPU to read")
    slow = Verdict("throughput", None, "the card's bandwidth is not known")
    both = fleet(replica(0, verdicts=(unread,)), replica(1, verdicts=(unread, slow)))
    said = render_summary(both, START + 60).splitlines()
    assert [line.strip() for line in said if "not judged" in line] == [
        "memory not judged      no GPU to read",
        "throughput not judged  replica 1: the card's bandwidth is not known",
    ]


def test_verdicts_that_lack_for_one_reason_are_one_line() -> None:
    names = ("generation", "memory", "load")
    lacking = tuple(Verdict(name, None, "not tried: the server cannot be reached") for name in names)
    said = render_summary(fleet(replica(0, verdicts=lacking), replica(1, verdicts=lacking)), START + 60)
    assert "  generation and 2 more not judged  not tried: the server cannot be reached\n" in said


def test_servers_that_are_not_ours_are_named_by_their_address() -> None:
    url = "http://10.0.0.5:30000"
    said = render_summary(fleet(replica(0, "unverified", gpu="", url=url), name="", model="", sglang=""), START + 60)
    assert said.splitlines()[0] == "1 server, level load"
    assert f"server 0, {url}: unverified" in said
    assert "cpu" not in said


def test_what_happened_afterwards_stands_at_the_end() -> None:
    said = render_summary(EIGHT, START + 60, remarks=("stopped: no process of it is left",))
    assert said.endswith("\n\nstopped: no process of it is left\n")


@pytest.mark.parametrize("render", [render_live, render_status, render_summary])
def test_a_rehearsal_says_so_first_and_last(render: object) -> None:
    assert callable(render)
    said = render(replace(EIGHT, rehearsal=True), START + 60).splitlines()
    assert said[0] == said[-1] == REHEARSAL
    assert REHEARSAL not in render(EIGHT, START + 60)


def test_the_verdict_of_a_rehearsal_is_never_that_of_hardware() -> None:
    said = render_summary(replace(EIGHT, rehearsal=True), START + 60)
    assert "\nVerified in a rehearsal: 8 of 8 at level load.\n" in said
    assert "Verified:" not in said


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"ended": True}, "ended 0:30 ago; nothing of it runs"),
        ({}, "nobody watches it"),
    ],
)
def test_status_says_who_watches(state: dict[str, bool], said: str) -> None:
    assert said in render_status(replace(EIGHT, **state), START + 90)


def test_status_shows_the_latest_events_with_their_age() -> None:
    told = replace(EIGHT, events=(event("every replica is verified", 50), event("restarted on demand", 55, 3)))
    said = render_status(told, START + 60).splitlines()
    assert said[-2:] == ["  0:10 ago  every replica is verified", "  0:05 ago  replica 3: restarted on demand"]


def test_foreign_text_is_escaped_everywhere() -> None:
    evil = "\x1b]0;owned\x07\n\u202e"
    spoilt: Fleet = fleet(
        replica(0, "loading", phase=evil, log=evil),
        replica(1, "failed", deaths=(death(exit=evil, log=evil, causes=(death().causes[0],)),)),
        replica(2, "unverified", verdicts=(Verdict("model", False, evil),), gpu_index=evil),
        name=evil,
        model=evil,
        sglang=evil,
        events=(event(evil),),
    )
    for said in (
        render_live(spoilt, START),
        render_status(spoilt, START, verbose=True),
        render_summary(spoilt, START, colour=False),
    ):
        assert not {"\x1b", "\x07", "\u202e"} & set(said)
        assert "\\x1b]0;owned\\x07\\n\\u202e" in said


def test_how_times_and_numbers_are_written() -> None:
    assert [duration(each) for each in (-1, 0, 59.9, 61, 3723)] == ["0:00", "0:00", "0:59", "1:01", "1:02:03"]
    assert numbers([4, 0, 1, 2, 6, 7]) == "0-2, 4, 6, 7"

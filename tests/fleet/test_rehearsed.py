"""Whole fleets of stand-ins: what a launch promises, and what it says when something goes wrong."""

from __future__ import annotations

import os
import signal
import time
import urllib.request
from pathlib import Path

import pytest

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.aftermath import end_orphans
from sm120kit.fleet.looking_in import verified_again
from sm120kit.fleet.process.family import family
from sm120kit.fleet.process.identity import alive
from sm120kit.fleet.process.marks import marked
from sm120kit.fleet.rehearsal.scheduler import PROCESS_NAME
from sm120kit.fleet.spec import Limits, RestartPolicy
from sm120kit.fleet.supervising import attach, list_fleets, read_fleet, restart, start
from sm120kit.fleet.types import Fleet, Verdict
from sm120kit.fleet.whose import fleet_of
from tests.fleet.rehearsing import Rehearsed, rehearsed, spec_of, story

pytestmark = pytest.mark.rehearsal


def verdict(fleet: Fleet, index: int, name: str) -> Verdict:
    """One verdict of one replica."""
    return next(each for each in fleet.replicas[index].verdicts if each.name == name)


def scheduler_of(fleet: Rehearsed, index: int) -> int:
    """Number of the process that a stand-in's scheduler is."""
    process = fleet.replica(index).process
    assert process is not None
    _, *below = family(process)
    names = {each.pid: Path(f"/proc/{each.pid}/comm").read_text().strip() for each in below}
    return next(pid for pid, name in names.items() if name.startswith(PROCESS_NAME))


def test_eight_from_start_to_stop_at_level_load() -> None:
    with rehearsed(spec_of(8, level="load")) as fleet:
        state = fleet.settled()
        assert state.verified, story(state)
        assert state.rehearsal
        assert state.granted_total == 8 * 37
        for each in state.replicas:
            assert (each.requested, each.predicted, each.granted) == (64, 37, 37)
            assert {one.name for one in each.verdicts if one.passed} >= {
                "port-owner", "model", "generation", "configuration", "concurrency", "memory", "load", "throughput",
            }  # fmt: skip
        fleet.stop()


def test_one_that_dies_is_restarted_alone_and_verified_again() -> None:
    with rehearsed(spec_of(3)) as fleet:
        before = fleet.settled()
        assert before.verified, story(before)
        os.kill(scheduler_of(fleet, 1), signal.SIGKILL)
        killed = time.monotonic()
        fleet.until(lambda state: not state.verified)
        assert time.monotonic() - killed < 1
        after = fleet.until(lambda state: state.verified)
        assert after.replicas[1].pid != before.replicas[1].pid
        assert after.replicas[1].restarts == 1
        assert len(after.replicas[1].deaths) == 1
        assert f", {PROCESS_NAME}, ended first" in after.replicas[1].deaths[0].exit
        for index in (0, 2):
            assert after.replicas[index].process == before.replicas[index].process
            assert after.replicas[index].since == before.replicas[index].since, "it never stopped being verified"
        fleet.stop()


def test_the_leader_goes_first_where_the_caches_are_cold_and_not_where_they_are_warm() -> None:
    with rehearsed(spec_of(3, warm_key="a" * 32)) as fleet:
        state = fleet.settled()
        started = [each.started or 0 for each in state.replicas]
        assert started[0] + (state.replicas[0].ready_s or 0) <= min(started[1:]) + 0.1, story(state)
    with rehearsed(spec_of(3, warm_key="a" * 32)) as fleet:
        state = fleet.settled()
        started = [each.started or 0 for each in state.replicas]
        assert max(started) < min(started) + (state.replicas[0].ready_s or 0), story(state)


FAULTS = {
    "wrong-text": "generation",
    "lower-grant": "concurrency",
    "empty-reasoning": "thinking",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_answers_wrongly_is_not_verified_and_its_sisters_are(fault: str) -> None:
    parser = "qwen3" if fault == "empty-reasoning" else ""
    with rehearsed(spec_of(3, faults=[f"{fault}:1"], level="standard", parser=parser)) as fleet:
        state = fleet.settled()
        assert [each.state for each in state.replicas] == ["verified", "unverified", "verified"], story(state)
        assert verdict(state, 1, FAULTS[fault]).passed is False
        assert not state.verified
        fleet.stop()


def test_a_port_taken_during_loading_never_counts() -> None:
    with rehearsed(spec_of(2, faults=["stolen-port:1"], restart=RestartPolicy(most=0))) as fleet:
        states = set()

        def look(state: Fleet) -> bool:
            states.add(state.replicas[1].state)
            return state.replicas[1].state == "failed"

        state = fleet.until(look)
        assert "verified" not in states
        assert state.replicas[1].deaths[0].causes[0].check == "server.port-in-use", story(state)


def test_a_crash_at_graph_capture_is_named_and_given_up() -> None:
    with rehearsed(spec_of(2, faults=["crash-at-graphs:1"])) as fleet:
        state = fleet.settled()
        assert [each.state for each in state.replicas] == ["verified", "failed"], story(state)
        assert state.replicas[1].deaths[0].causes[0].check, story(state)
        fleet.stop()


def test_a_crash_that_happens_once_is_got_over() -> None:
    with rehearsed(spec_of(2, faults=["crash-at-graphs:1:once"])) as fleet:
        state = fleet.settled()
        assert state.verified, story(state)
        assert state.replicas[1].restarts == 1
        fleet.stop()


def test_a_scheduler_that_hangs_is_shown_as_hung_and_comes_back_or_is_restarted() -> None:
    with rehearsed(spec_of(2, limits=Limits(start=30, answer=20, verify=60, hang=1.5, drain=1))) as fleet:
        fleet.settled()
        scheduler = scheduler_of(fleet, 0)
        os.kill(scheduler, signal.SIGSTOP)
        stopped = time.monotonic()
        fleet.until(lambda state: state.replicas[0].state == "hung")
        assert time.monotonic() - stopped < 1.5 + 2
        os.kill(scheduler, signal.SIGCONT)
        state = fleet.until(lambda state: state.verified)
        assert state.replicas[0].restarts == 0
        os.kill(scheduler, signal.SIGSTOP)
        state = fleet.until(lambda state: state.replicas[0].restarts == 1 and state.verified)
        assert state.replicas[0].deaths[0].exit == "hung for 3 s and was ended"
        fleet.stop()


def test_a_scheduler_that_hangs_while_it_is_verified_is_shown_as_hung_and_given_up_alone() -> None:
    limits = Limits(start=30, answer=60, verify=120, hang=1, drain=1)
    with rehearsed(spec_of(2, faults=["hang:1"], limits=limits, restart=RestartPolicy(most=0))) as fleet:
        fleet.until(lambda state: state.replicas[1].state == "hung", limit_s=30)
        state = fleet.settled()
        assert [each.state for each in state.replicas] == ["verified", "failed"], story(state)
        assert state.replicas[1].deaths[0].exit == "hung for 2 s and was ended"
        fleet.stop()


def test_what_is_stopped_while_it_is_verified_has_no_verdict_against_it() -> None:
    with rehearsed(spec_of(2, level="load")) as fleet:
        fleet.until(lambda state: any(each.state == "verifying" and each.verdicts for each in state.replicas))
        state = fleet.stop()
        against = [one for each in state.replicas for one in each.verdicts if one.passed is False]
        assert against == []


def test_one_that_refuses_sigterm_is_killed() -> None:
    with rehearsed(spec_of(2, faults=["refuses-sigterm:0"], limits=Limits(drain=0.5))) as fleet:
        fleet.settled()
        state = fleet.stop()
        assert "did not end within 0.5 s of SIGTERM and is killed" in story(state)


def test_memory_that_is_not_given_back_is_named() -> None:
    with rehearsed(spec_of(2, faults=["leaks-memory:1"])) as fleet:
        fleet.settled()
        state = fleet.attached.stop(2)
        fleet.assert_gone(state, leaked=True)
        assert "GPU 1" in story(state)
        assert "more than before the launch" in story(state)


def test_a_slow_sister_is_named() -> None:
    with rehearsed(spec_of(4, faults=["slow:2"], level="load")) as fleet:
        state = fleet.settled()
        assert verdict(state, 2, "throughput").passed is False, story(state)
        fleet.stop()


def test_a_busy_server_is_not_taken_for_dead() -> None:
    limits = Limits(start=30, answer=20, verify=60, hang=1, drain=1)
    with rehearsed(spec_of(1, limits=limits)) as fleet:
        fleet.settled()
        port = fleet.spec.replicas[0].port
        body = b'{"text": "x", "sampling_params": {"max_new_tokens": 600, "ignore_eos": true}}'
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/generate", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 200
        assert "hung" not in story(fleet.state())
        fleet.stop()


def test_whoever_launched_it_can_go_only_after_a_word() -> None:
    spec = spec_of(2)
    with rehearsed(spec) as fleet:
        fleet.settled()
        fleet.attached._close()
        state = fleet.until(lambda state: state.ended)
        assert state.supervisor is not None
        while alive(state.supervisor):
            time.sleep(0.01)
        fleet.assert_gone(state)
    with rehearsed(spec) as fleet:
        fleet.attached.detach()
        state = fleet.settled()
        assert state.verified
        assert state.detached
        assert [each.name for each in list_fleets() if not each.ended] == ["test"]


def test_a_killed_supervisor_leaves_nothing_behind() -> None:
    with rehearsed(spec_of(2)) as fleet:
        state = fleet.settled()
        assert state.supervisor is not None
        os.kill(state.supervisor.pid, signal.SIGKILL)
        fleet.until(lambda state: state.ended)
        fleet.assert_gone(fleet.state())


def test_supervisor_and_sweeper_killed_the_next_command_ends_what_is_left() -> None:
    with rehearsed(spec_of(2)) as fleet:
        state = fleet.settled()
        assert state.supervisor is not None
        for pid in (*sweepers_of(state), state.supervisor.pid):
            os.kill(pid, signal.SIGKILL)
        while alive(state.supervisor):
            time.sleep(0.01)
        end_orphans()
        found = read_fleet("test")
        assert found is not None
        fleet.assert_gone(found)


def sweepers_of(state: Fleet) -> list[int]:
    """The sweeper's process."""
    assert state.supervisor is not None
    return [
        each.pid
        for each in family(state.supervisor)
        if b"sm120kit.fleet.process.sweeper" in Path(f"/proc/{each.pid}/cmdline").read_bytes()
    ]


def test_a_killed_sweeper_is_replaced() -> None:
    with rehearsed(spec_of(1)) as fleet:
        state = fleet.settled()
        (first,) = sweepers_of(state)
        os.kill(first, signal.SIGKILL)
        limit = time.monotonic() + 10
        while sweepers_of(state) in ([], [first]):
            assert time.monotonic() < limit
            time.sleep(0.02)
        fleet.stop()


def test_a_name_is_taken_while_its_fleet_runs() -> None:
    spec = spec_of(1)
    with rehearsed(spec) as fleet:
        with pytest.raises(Sm120kitError, match="runs already"):
            start(spec)
        found = attach(spec)
        assert found is not None
        assert found.id == fleet.state().id
        with pytest.raises(Sm120kitError, match="launched with other settings"):
            attach(spec_of(2))
        fleet.settled()
        fleet.stop()
    assert attach(spec) is None


def test_a_later_look_holds_memory_against_the_plan_too() -> None:
    with rehearsed(spec_of(1)) as fleet:
        state = fleet.settled()
        seen = verified_again(state, level="quick", thinking="auto", api_key="")
        assert seen.verified, story(seen)
        assert "planned 80.00 GiB" in verdict(seen, 0, "memory").evidence
        fleet.stop()


def test_processes_tell_whose_they_are() -> None:
    with rehearsed(spec_of(1)) as fleet:
        state = fleet.settled()
        assert fleet_of(state.replicas[0].pid or 0) == "test"
        assert fleet_of(os.getpid()) == ""
        fleet.stop()


def test_a_restart_that_was_asked_for() -> None:
    with rehearsed(spec_of(2)) as fleet:
        before = fleet.settled()
        with pytest.raises(Sm120kitError, match="no replica 7"):
            restart(fleet.folder, (7,))
        restart(fleet.folder, (1,))
        after = fleet.until(lambda state: state.verified and state.replicas[1].pid != before.replicas[1].pid)
        assert after.replicas[0].process == before.replicas[0].process
        assert after.replicas[1].deaths == ()
        fleet.stop()
    with pytest.raises(Sm120kitError, match="no fleet called test runs"):
        restart(fleet.folder, (1,))


def test_it_can_be_stopped_while_it_loads() -> None:
    for pause in (0, 0.3):
        with rehearsed(spec_of(3, load_s=5)) as fleet:
            time.sleep(pause)
            fleet.stop()


def test_no_process_of_it_is_left_that_is_not_marked() -> None:
    with rehearsed(spec_of(2)) as fleet:
        state = fleet.settled()
        assert state.supervisor is not None
        below = {each.pid for each in family(state.supervisor)} - {state.supervisor.pid, *sweepers_of(state)}
        assert below == {each.pid for each in marked(state.id)}
        fleet.stop()

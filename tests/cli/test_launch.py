"""``sm120kit launch`` and the commands of a fleet that runs, against stand-ins."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sm120kit.report.fleet_words import REHEARSAL
from tests.cli.conftest import Answer, Command
from tests.cli.rehearsals import LIMIT_S, left_over, rehearsal, running, state, until

pytestmark = pytest.mark.rehearsal

PROGRAM = [sys.executable, "-m", "sm120kit"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sm120kit: Command) -> Iterator[Path]:
    """The folder of all state; nothing may be left of it at the end."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    yield tmp_path / "state"
    sm120kit("stop", "--all")
    until(lambda: not left_over(tmp_path / "state"), 15)


def lines(answer: Answer) -> list[str]:
    """Standard output by lines, of which the first and the last must say that it is a rehearsal."""
    shown = answer.out.splitlines()
    assert shown[0] == shown[-1] == REHEARSAL
    return shown


def test_from_command_to_verified_to_stopped(sm120kit: Command, home: Path) -> None:
    launched = sm120kit(*rehearsal("--detach", "--json", replicas=2))
    assert launched.code == 0, launched.err
    fleet = json.loads(launched.out)
    Draft202012Validator(json.loads(sm120kit("schema", "fleet").out)).validate(fleet)
    assert (fleet["schema"], fleet["level"], fleet["verified"], fleet["rehearsal"]) == (
        "sm120kit.fleet/1", "load", True, True,
    )  # fmt: skip
    assert fleet["granted_total"] == sum(each["granted"] for each in fleet["replicas"])
    told = launched.err.splitlines()
    assert told[0] == REHEARSAL
    assert re.search(r"^rehearsal, replicas? (?:0, )?1: started as process [\d-]+ on port [\d-]+$", launched.err, re.M)
    assert re.search(r"^rehearsal, replicas? 0(, 1)?: verified at level load$", launched.err, re.MULTILINE)

    shown = lines(sm120kit("status"))
    assert "Verified in a rehearsal: 2 of 2 at level load." in shown
    assert sm120kit("status", "drill", "-v").out.count("passed      generation: ") == 2
    data = json.loads(sm120kit("status", "--json").out)
    assert [each["pid"] for each in data["replicas"]] == [each["pid"] for each in fleet["replicas"]]
    assert "rehearsal, verified" in sm120kit("fleets").out
    assert [each["name"] for each in json.loads(sm120kit("fleets", "--json").out)] == ["drill"]

    again = sm120kit("verify", "drill", "--level", "quick")
    assert again.code == 0, again.out
    assert "Verified in a rehearsal: 2 of 2 at level quick." in lines(again)

    strangers = [f"http://127.0.0.1:{each['port']}" for each in fleet["replicas"]]
    by_address = sm120kit("verify", *strangers, "--level", "quick")
    assert "Verified in a rehearsal: 2 of 2 at level quick." in lines(by_address)

    log = lines(sm120kit("logs", "drill", "1", "-n", "5"))
    assert len(log) == 7
    assert all(line.startswith("replica 1: ") for line in log[1:-1])

    before = data["replicas"]
    for words, meant in (("stop", "restart NAME N"), ("status", "logs NAME N"), ("verify", "as a whole")):
        refused = sm120kit(words, "drill", "1")
        assert (refused.code, refused.out) == (2, "")
        assert meant in refused.err
    assert sm120kit("fleets", "--forget", "drill").err.startswith("sm120kit: drill runs, and only what has ended")
    restarted = sm120kit("restart", "drill", "1", "--json")
    assert restarted.code == 0, restarted.out + restarted.err
    after = json.loads(restarted.out)["replicas"]
    assert after[0]["pid"] == before[0]["pid"]
    assert after[1]["pid"] != before[1]["pid"]
    assert (after[1]["state"], after[1]["restarts"]) == ("verified", 1)
    assert sm120kit("logs", "--replica", "1", "--start", "1").code == 0
    refused = sm120kit("logs", "--replica", "1", "--start", "9")
    assert refused.code == 2
    assert "Its starts are 1 to 2" in refused.err

    stopped = sm120kit("stop")
    assert stopped.code == 0
    assert "drill: ended" in lines(stopped)
    assert not left_over(home)
    ended = state(home)
    assert ended is not None
    assert ended["ended"]
    assert {each["state"] for each in ended["replicas"]} == {"stopped"}
    status = sm120kit("status")
    assert status.code == 1
    assert f"Was verified in a rehearsal: 2 of 2 at level {ended['level']}, until it was ended." in lines(status)
    assert "drill: had ended already, " in sm120kit("stop").out
    assert "has ended" in sm120kit("verify").err
    forgotten = sm120kit("fleets", "--forget-ended")
    assert (forgotten.code, forgotten.out[:24]) == (0, "drill: its state and 3 l")
    assert sm120kit("fleets").out.startswith("No fleet.")


def test_what_is_not_verified_is_ended_and_its_cause_is_named(sm120kit: Command, home: Path) -> None:
    answer = sm120kit(*rehearsal("--fault", "wrong-text:1", "--level", "quick", replicas=3))
    assert answer.code == 1
    shown = lines(answer)
    assert "Not verified in a rehearsal: 2 of 3 at level quick." in shown
    place = next(number for number, line in enumerate(shown) if line.startswith("replica 1 on GPU 1, port "))
    assert any(line.startswith("  failed      generation: ") for line in shown[place:])
    assert not left_over(home)
    ended = state(home)
    assert ended is not None
    assert ended["ended"]


def test_a_death_while_loading_is_named_with_cause_and_log(sm120kit: Command, home: Path) -> None:
    answer = sm120kit(*rehearsal("--fault", "crash-at-graphs:1", "--restarts", "0", "--level", "quick"))
    assert answer.code == 1
    shown = "\n".join(lines(answer))
    assert "replica 1 on GPU 1" in shown
    assert re.search(r"^    cause  \S", shown, re.MULTILINE)
    assert re.search(r"^    fix    \S", shown, re.MULTILINE)
    log = re.search(r"^    log   (\S+)$", shown, re.MULTILINE)
    assert log
    assert Path(log[1]).is_file()
    assert not left_over(home)


def test_logs_go_on_over_a_restart_until_the_fleet_ends(sm120kit: Command, home: Path) -> None:
    assert sm120kit(*rehearsal("--detach", "--level", "quick", replicas=1)).code == 0
    now = state(home)
    assert now is not None
    with running(["logs", "-f", "-n", "1"]) as following:
        until(lambda: following.process.poll() is None)
        assert sm120kit("restart").code == 0
        assert sm120kit("stop").code == 0
        code, out, err = following.finish()
    assert code == 0
    assert re.fullmatch(r"sm120kit: \d+ lines of answered requests left out; --requests shows them\n", err)
    shown = out.splitlines()
    assert shown[0] == shown[-1] == REHEARSAL
    assert not any(' HTTP/1.1" 200 ' in line for line in shown)
    everything = sm120kit("logs", "-n", "1000", "--requests")
    assert everything.err == ""
    assert ' HTTP/1.1" 200 OK' in everything.out
    assert "\x1b" not in out
    assert any("fired up and ready to roll" in line for line in shown)


def test_with_keep_what_runs_goes_on(sm120kit: Command, home: Path) -> None:
    answer = sm120kit(*rehearsal("--fault", "wrong-text:1", "--keep", "--detach", "--level", "quick"))
    assert answer.code == 1
    fleet = json.loads(sm120kit("status", "--json").out)
    assert [each["state"] for each in fleet["replicas"]] == ["verified", "unverified"]
    assert left_over(home)


@pytest.mark.usefixtures("home")
def test_servers_that_are_all_broken_alike_are_not_verified(sm120kit: Command) -> None:
    answer = sm120kit(*rehearsal("--fault", "wrong-text", "--level", "quick"))
    assert answer.code == 1
    assert "Not verified in a rehearsal: 0 of 2 at level quick." in lines(answer)
    assert 'generation: the answer only repeats "!"' in answer.out


@pytest.mark.usefixtures("home")
def test_the_same_again_attaches_and_something_else_is_refused(sm120kit: Command) -> None:
    words = rehearsal("--detach", "--level", "quick", replicas=1)
    with running(words) as command:  # in a process of its own, whose end would end the servers but for --detach
        code, _, err = command.finish()
    assert code == 0, err
    assert "drill runs on by itself; sm120kit stop drill ends it" in err
    first = json.loads(sm120kit("status", "--json").out)
    again = sm120kit(*words)
    assert again.code == 0, again.err
    assert "runs already with these settings" in again.err
    assert json.loads(sm120kit("status", "--json").out)["supervisor"] == first["supervisor"]
    other = sm120kit(*words, "--level", "standard")
    assert other.code == 2
    assert "drill runs already, launched with other settings: level standard where it runs with quick" in other.err
    fault = sm120kit(*words, "--fault", "slow")
    assert "other settings: something that the state does not keep" in fault.err
    assert "sm120kit stop drill" in other.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_stands_by_ends_everything(home: Path, number: signal.Signals) -> None:
    with running(rehearsal("--level", "quick", replicas=2)) as command:
        command.stands_by()
        code, out, err = command.finish(number)
    assert code == 130, err
    shown = out.splitlines()
    assert shown[0] == shown[-1] == REHEARSAL
    assert "Verified in a rehearsal: 2 of 2 at level quick." in shown
    assert "ending all servers" in err
    assert not left_over(home)
    ended = state(home)
    assert ended is not None
    assert ended["ended"]


@pytest.mark.parametrize("wait_s", [0.0, 0.3, 1.0])
def test_ctrl_c_at_any_moment_leaves_nothing(home: Path, wait_s: float) -> None:
    import time

    with running(rehearsal(replicas=2, load_s=3)) as command:
        time.sleep(wait_s)
        code, _, err = command.finish(signal.SIGINT)
    assert code in (130, -signal.SIGINT), err  # before Python itself is up, nobody catches it
    until(lambda: not left_over(home), 10)


def test_when_the_command_is_killed_its_servers_end(home: Path) -> None:
    with running(rehearsal("--level", "quick", replicas=1)) as command:
        command.stands_by()
        command.process.kill()
        command.process.communicate(timeout=LIMIT_S)
    until(lambda: not left_over(home), 10)
    until(lambda: (now := state(home)) and now["ended"], 10)


@pytest.mark.usefixtures("home")
def test_stopped_from_elsewhere_it_ends_well(sm120kit: Command) -> None:
    with running(rehearsal("--json", "--level", "quick", replicas=1)) as command:
        command.stands_by()
        assert sm120kit("stop", "drill").code == 0
        code, out, err = command.finish()
    assert code == 0, err
    assert json.loads(out)["verified"]
    assert "drill was stopped" in err


def test_the_service_manager_is_told(home: Path, tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(LIMIT_S)
        with running(rehearsal("--level", "quick", replicas=1), NOTIFY_SOCKET=address) as command:
            heard = []
            while "READY=1" not in heard:
                heard.append(manager.recv(4096).decode())
            now = state(home)
            assert now is not None
            assert now["verified"]
            command.finish(signal.SIGTERM)
    assert "STATUS=rehearsal: all 1 verified at level quick" in heard
    assert heard[-1] == "READY=1"


def test_a_taken_port_is_refused_before_anything_starts(sm120kit: Command, home: Path) -> None:
    words = rehearsal("--json", replicas=2)
    port = int(words[words.index("--base-port") + 1]) + 1
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        answer = sm120kit(*words)
    assert (answer.code, answer.out) == (1, "")
    assert "launch.port-taken" in answer.err
    assert str(port) in answer.err
    assert "Refused: 1 error. Nothing was started." in answer.err
    assert state(home) is None


@pytest.mark.usefixtures("home")
def test_no_secret_is_left_anywhere(sm120kit: Command, tmp_path: Path) -> None:
    secret = "correct-horse-battery-staple"
    launched = sm120kit(*rehearsal("--detach", "-v", "--level", "quick", replicas=1), "--", "--api-key", secret)
    assert launched.code == 0, launched.err
    told = [launched, sm120kit("status", "-v"), sm120kit("logs", "-n", "1000"), sm120kit("fleets", "--json")]
    assert not [each for each in told if secret in each.out + each.err]
    titles = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.parent.is_dir()]
    assert not [title for title in titles if secret.encode() in title and b"pytest" not in title]
    assert sm120kit("stop").code == 0
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if secret.encode() in path.read_bytes()]


def test_a_file_asks_for_the_same(sm120kit: Command, tmp_path: Path) -> None:
    words = rehearsal("--detach", "--level", "quick", "--variable", "A=b", "--fault", "slow:0", replicas=1)
    printed = sm120kit(*words, "--print-config", "--", "--max-running-requests", "4")
    assert (printed.code, printed.err) == (0, "")
    file = tmp_path / "fleet.toml"
    file.write_text(printed.out)
    assert sm120kit("launch", "--config", str(file), "--print-config").out == printed.out
    assert 'sglang = ["--max-running-requests", "4"]' in printed.out
    assert sm120kit("launch", "--config", str(file), "--level", "load", "--print-config").out != printed.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = \n", "line 1"),
        ('nmae = "x"\n', "Did you mean name"),
        ("\n\n[limits]\nstart = 'soon'\n", "line 4: limits.start is a number of seconds"),
    ],
)
def test_a_file_that_makes_no_sense(sm120kit: Command, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text(text)
    answer = sm120kit("launch", "--rehearse", "--config", str(file))
    assert answer.code == 2
    assert str(file) in answer.err
    assert said in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--", "--max-runing-requests", "4"), "--max-running-requests"),
        (("--fault", "explode"), "no fault that can be rehearsed"),
        (("--level", "perfect"), "--level"),
        (("--name", "a/b"), "no name for a fleet"),
        (("--force", "launch.port-takn"), "launch.port-taken"),
        (("--base-port", "0"), "--base-port"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_starts(
    sm120kit: Command, home: Path, words: tuple[str, ...], said: str
) -> None:
    answer = sm120kit(*rehearsal(replicas=1), *words)
    assert answer.code == 2, answer.err
    assert said in answer.err
    assert state(home) is None


def test_no_fleet_is_named(sm120kit: Command, home: Path) -> None:
    for command in ("status", "logs", "stop", "restart", "verify"):
        answer = sm120kit(command)
        assert answer.code == 2
        assert "there is no fleet" in answer.err
        assert "there is no fleet 'x'" in sm120kit(command, "x").err
    assert not home.exists()


def test_without_a_name_one_of_several_must_be_named(sm120kit: Command, home: Path) -> None:
    for name in ("one", "two"):
        assert sm120kit(*rehearsal("--detach", "--level", "quick", replicas=1, name=name)).code == 0
    answer = sm120kit("status")
    assert answer.code == 2
    assert "The fleets are one, two" in answer.err
    assert sm120kit("stop", "one").code == 0
    assert json.loads(sm120kit("status", "--json").out)["name"] == "two"
    assert "one (ended)" in sm120kit("status", "three").err
    assert os.listdir(home / "sm120kit" / "fleets") == ["one", "two"]


@pytest.mark.usefixtures("home")
def test_servers_run_on_where_the_result_cannot_be_written(sm120kit: Command) -> None:
    command = [*PROGRAM, *rehearsal("--detach", "--level", "quick", replicas=1)]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-3:] == [
        "sm120kit: standard output cannot be written: No space left on device",
        "  See how it stands with: sm120kit status drill",
        "sm120kit: drill runs on by itself; sm120kit stop drill ends it",
    ]
    assert sm120kit("status", "drill").code == 0

"""What ``sm120kit launch`` costs: how long until eight stand-ins are verified, how soon a death is seen, how much of a
core watching them takes.

``python benchmarks/launch.py [--load-s T] [--replicas N] [--rounds N] [--watch-s S]``, from the checkout, with sm120kit
installed. Servers are the stand-ins of ``--rehearse``, which load in T seconds, with 32 requests at a time each; they
share this machine's cores with the launch.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import msgspec
import psutil

from sm120kit.fleet.state import folder_of, load_fleet
from sm120kit.fleet.types import Fleet

NAME = "benchmark"


def sm120kit(*words: str) -> subprocess.CompletedProcess[str]:
    """One command, to its end."""
    return subprocess.run([sys.executable, "-m", "sm120kit", *words], check=False, capture_output=True, text=True)


def launch(replicas: int, load_s: float, level: str) -> tuple[float, Fleet]:
    """Seconds from the command until all are verified, and what it printed."""
    begun = time.monotonic()
    done = sm120kit("launch", "--rehearse", "--gpu", f"rtx-pro-6000x{replicas}", "--name", NAME, "--level", level,
                    "--load-s", str(load_s), "--base-port", "21000", "--base-nccl-port", "22000", "--detach", "--json",
                    "--restart-delay", "0.1")  # fmt: skip
    seconds = time.monotonic() - begun
    if done.returncode:
        raise SystemExit(f"not verified: {done.stderr[-2000:]}")
    return seconds, msgspec.json.decode(done.stdout, type=Fleet)


def state() -> Fleet:
    """As it was written last."""
    fleet = load_fleet(folder_of(NAME))
    assert fleet is not None
    return fleet


def death_seen(fleet: Fleet) -> float:
    """Seconds from the kill of a scheduler until the state no longer calls its replica verified."""
    (scheduler,) = psutil.Process(fleet.replicas[0].pid).children()
    scheduler.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    while state().replicas[0].state == "verified":
        time.sleep(0.002)
    seen = time.monotonic() - killed
    while not state().verified:
        time.sleep(0.05)
    return seen


def core_share(fleet: Fleet, seconds: float) -> float:
    """What the supervisor and its sweeper take of one core while nothing happens."""
    assert fleet.supervisor is not None
    processes = [psutil.Process(fleet.supervisor.pid)]
    processes += [each for each in processes[0].children() if "sweeper" in " ".join(each.cmdline())]
    before = sum(sum(each.cpu_times()[:2]) for each in processes)
    time.sleep(seconds)
    return (sum(sum(each.cpu_times()[:2]) for each in processes) - before) / seconds


def show(what: str, values: list[float], unit: str, bar: str) -> None:
    """One row."""
    low, high = min(values), max(values)
    spread = f"{low:.2f} to {high:.2f}"
    sys.stdout.write(f"{what:42}{statistics.median(values):8.2f} {unit:10}{spread:>18}   {bar}\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load-s", type=float, default=2.0)
    parser.add_argument("--replicas", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--watch-s", type=float, default=60.0)
    parser.add_argument("--level", default="load")
    asked = parser.parse_args()
    cold: list[float] = []
    warm: list[float] = []
    seen: list[float] = []
    share: list[float] = []
    load = asked.load_s
    for number in range(asked.rounds):
        with tempfile.TemporaryDirectory() as home:
            os.environ |= {
                f"XDG_{name}_HOME": f"{home}/{name.lower()}" for name in ("STATE", "CACHE", "DATA", "CONFIG")
            }
            for seconds in (cold, warm):
                taken, fleet = launch(asked.replicas, load, asked.level)
                seconds.append(taken)
                try:
                    seen.append(death_seen(fleet))
                    if seconds is warm and number == asked.rounds - 1:
                        share.append(100 * core_share(fleet, asked.watch_s))
                finally:
                    sm120kit("stop", NAME)
    machine = f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"
    sys.stdout.write(f"{asked.replicas} stand-ins that load in {load:g} s, level {asked.level}, {machine}\n\n")
    show("from command to verified, cold caches", cold, "s", f"bar: {2 * load + 2:g} s")
    show("from command to verified, warm caches", warm, "s", f"bar: {load + 2:g} s")
    show("from a kill until it is seen", seen, "s", "bar: 1 s")
    show("supervising", share, "% of a core", "bar: 2 %")


if __name__ == "__main__":
    main()

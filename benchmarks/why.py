"""What ``sm120kit why`` costs: megabytes a second and peak memory over logs of many kinds.

``python benchmarks/why.py [--megabytes N] [--rounds N]``, from the checkout, with sm120kit installed. The logs are made
here, with one known failure at their end, which every run must find. A second is one of CPU time (user and system) of
the whole command; the wall clock stands beside it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

FAILURE = (
    b"[2026-11-29 15:28:09 TP3] Scheduler hit an exception: Traceback (most recent call last):\n"
    b"RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: "
    b"mem_fraction_static=0.5\n"
)
EXPECTED = "memory.kv-cache-no-room"
ALSO = {"one known error on every line": ["toolkit.cudart-unlinkable"]}
"""What else a kind of log shows, and before that."""

Lines = Callable[[random.Random], Iterator[bytes]]


def _time(number: int) -> str:
    return f"2026-11-29 {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"


def serving(chance: random.Random) -> Iterator[bytes]:
    """Eight ranks that serve: batches, and the access log."""
    for number in itertools.count():
        running = chance.randrange(64)
        yield (
            f"[{_time(number)} TP{number % 8}] Decode batch, #running-req: {running}, #token: {running * 977}, "
            f"token usage: {chance.random():.2f}, cuda graph: True, "
            f"gen throughput (token/s): {chance.random() * 2000:.2f}, #queue-req: 0, "
        ).encode()
        if number % 3 == 0:
            client = f"10.0.{chance.randrange(256)}.{chance.randrange(256)}:{chance.randrange(65536)}"
            yield f'[{_time(number)}] INFO:     {client} - "POST /v1/chat/completions HTTP/1.1" 200 OK'.encode()


def containers(chance: random.Random) -> Iterator[bytes]:
    """The same, through a container runtime's own format."""
    for number, line in enumerate(serving(chance)):
        yield f"2026-11-29T15:00:{number % 60:02}.{number % 10**9:09}Z stderr F ".encode() + line


def request_ids(chance: random.Random) -> Iterator[bytes]:
    """A server that logs each request with its id, so that hardly two lines are of one shape."""
    for number in itertools.count():
        request = f"{chance.getrandbits(128):032x}"
        yield (
            f"INFO 11-29 15:00:00 [logger.py:{number % 90}] Received request chatcmpl-{request}: prompt: None, "
            f"params: SamplingParams(n=1, temperature=0.7, top_p=0.9, seed=None, max_tokens={number % 4096}), "
            f"prompt_token_ids: None."
        ).encode()
        yield f'INFO:     10.0.0.7:{number % 65536} - "POST /v1/chat/completions HTTP/1.1" 200 OK'.encode()


def progress(chance: random.Random) -> Iterator[bytes]:
    """Progress bars that write over their own line, coloured."""
    for _ in itertools.count():
        steps = (
            f"\x1b[32mLoading shards: {step:3}%|{'#' * (step // 4):25}| {chance.random():.2f}s/it\x1b[0m"
            for step in range(100)
        )
        yield "\r".join(steps).encode()


def errors(chance: random.Random) -> Iterator[bytes]:
    """A server that writes errors all the time, none of them known, each with another id."""
    for number in itertools.count():
        yield (
            f"[{_time(number)} TP{number % 8}] ERROR: request {chance.getrandbits(64):016x} failed: ValueError: "
            f"bad field {number}"
        ).encode()


def long_lines(chance: random.Random) -> Iterator[bytes]:
    """Lines of half a megabyte: requests that are logged with their prompts."""
    words = ["the", "quick", "brown", "fox", "over", "lazy", "dogs", "because", "nothing", "matters", "here"]
    while True:
        yield b"Receive: obj=GenerateReqInput(text='" + " ".join(chance.choices(words, k=90_000)).encode() + b"')"


def letters_in_errors(chance: random.Random) -> Iterator[bytes]:
    """Errors with an id of letters and digits in each, which is no hexadecimal number."""
    signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    for number in itertools.count():
        request = "".join(chance.choices(signs, k=16))
        yield f"[{_time(number)} TP{number % 8}] ERROR: request {request} failed: ValueError: bad field".encode()


def prose(chance: random.Random) -> Iterator[bytes]:
    """Text by the half megabyte that nothing tells to be a request."""
    for line in long_lines(chance):
        yield line.partition(b"'")[2]


def one_known_error(chance: random.Random) -> Iterator[bytes]:
    """A cause that shows on every line, each with another id: all lines are counted."""
    for number in itertools.count():
        yield (
            f"[{_time(number)} TP{number % 8}] request {chance.getrandbits(64):016x}: /usr/bin/ld: cannot find -lcudart"
        ).encode()


KINDS: dict[str, Lines] = {
    "serving, 8 ranks": serving,
    "the same, container runtime": containers,
    "a new id in every other line": request_ids,
    "progress bars": progress,
    "lines of half a megabyte": long_lines,
    "nothing but errors, no two alike": errors,
    "the same, ids of any letters": letters_in_errors,
    "prose by the half megabyte": prose,
    "one known error on every line": one_known_error,
}

SHORTER = {"the same, ids of any letters": 4, "prose by the half megabyte": 4, "one known error on every line": 20}
"""Kinds that are slow, or slow to make: their logs are shorter by this factor."""


@dataclass
class Measured:
    """One kind of log and what was measured."""

    name: str
    path: Path
    cpu_s: list[float] = field(default_factory=list)
    wall_s: list[float] = field(default_factory=list)
    peak_mib: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Read it once in a process of its own."""
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "sm120kit", "why", "--json", str(self.path)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        answer = json.loads(process.stdout.read())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.wall_s.append(time.perf_counter() - start)
        self.cpu_s.append(usage.ru_utime + usage.ru_stime)
        self.peak_mib.append(usage.ru_maxrss / 1024)
        found = [cause["check"] for cause in answer["causes"]]
        expected = [*ALSO.get(self.name, ()), EXPECTED]
        if found != expected:
            raise SystemExit(f"{self.name}: found {found}, expected {expected}")


def write_log(path: Path, lines: Lines, size: int) -> None:
    """A log of that many bytes, the failure at its end."""
    written = 0
    with path.open("wb", buffering=1 << 20) as file:
        for line in lines(random.Random(20261129)):
            written += file.write(line + b"\n")
            if written >= size:
                break
        file.write(FAILURE)


def main() -> None:
    """Write the logs, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=1000, help="size of each log (10^6 bytes)")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sys.stdout.write(f"{'':32} {'size':>8} {'MB per CPU s':>13} {'spread':>11} {'MB/s wall':>10} {'peak MiB':>9}\n")
    for name, lines in KINDS.items():
        megabytes = options.megabytes // SHORTER.get(name, 1)
        with tempfile.TemporaryDirectory() as folder:
            measured = Measured(name, Path(folder) / "server.log")
            write_log(measured.path, lines, megabytes * 1_000_000)
            for _ in range(options.rounds):
                measured.run()
            size = measured.path.stat().st_size / 1e6
        rates = [size / seconds for seconds in measured.cpu_s]
        spread = f"{min(rates):.0f} to {max(rates):.0f}"
        wall = size / statistics.median(measured.wall_s)
        sys.stdout.write(
            f"{name:32} {megabytes:5} MB {statistics.median(rates):13.0f} {spread:>11} {wall:10.0f} "
            f"{max(measured.peak_mib):9.0f}\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()

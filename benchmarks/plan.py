"""What ``sm120kit plan --json`` costs beside ``python -c pass``, and how long a chart of 1,000 points takes.

``python benchmarks/plan.py [--rounds N]``, from the checkout, with sm120kit installed. The model is a configuration and
a checkpoint of 15 files and some thousand tensors, which are holes. CPU is user and system time of the command.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from sm120kit.capacity.plan import curve  # noqa: E402 - the checkout is put on the path first
from sm120kit.report.chart import chart  # noqa: E402
from tests.planning import DRAFTING, OLD_STRATEGY, QWEN36_27B, server, write_config, write_safetensors  # noqa: E402

STORY = (OLD_STRATEGY, "extra_buffer", "--mem-fraction-static", "0.84", *DRAFTING, "--max-running-requests", "128")
FILES, TENSORS = 15, 100
POINTS = 1000


def cpu_s(command: Sequence[str]) -> float:
    """User and system seconds of one run."""
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        write_config(Path(folder), QWEN36_27B)
        for number in range(FILES):
            names = [f"model.layers.{number}.block.{index}.weight" for index in range(TENSORS)]
            write_safetensors(
                Path(folder, f"model-{number:05}.safetensors"), [(name, "BF16", (6000, 3000)) for name in names]
            )
        words = ("plan", folder, "--gpu", "b200x7", "--sglang", "0.5.11", "--json", "--", *STORY)
        subjects = {
            "python -c pass": (sys.executable, "-c", "pass"),
            "import click, msgspec": (sys.executable, "-c", "import click, msgspec"),
            "plan --json": (sys.executable, "-m", "sm120kit", *words),
        }
        taken: dict[str, list[float]] = {name: [] for name in subjects}
        for _ in range(rounds):
            for name, command in subjects.items():
                taken[name].append(cpu_s(command))
    bare = statistics.median(taken["python -c pass"])
    for name, seconds in taken.items():
        middle = statistics.median(seconds)
        sys.stdout.write(f"{name:24} {middle * 1000:7.1f} ms CPU  {middle / bare:5.1f}x\n")
    asked = server(QWEN36_27B, "0.5.11", *STORY, free=177.5, weights=51)
    began = time.perf_counter()
    points = curve(asked, POINTS, POINTS)
    chart([(point.requested, point.granted) for point in points], width=100)
    sys.stdout.write(f"a chart of {len(points)} points {(time.perf_counter() - began) * 1000:7.1f} ms\n")


if __name__ == "__main__":
    main()

"""What ``sm120kit fix`` costs: composing and switching a view, and ``fix --apply`` beside its own proof.

``python benchmarks/fix.py [--rounds N]``, from the checkout, with sm120kit installed. The target is a site-packages
folder with the real wheels of CUDA 13.0 as pip lays them and FlashInfer 0.7.2.post1. Wall times; medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from sm120kit.cli.target_options import Asked  # noqa: E402 - the checkout is put on the path first
from sm120kit.cli.workbench import Workbench, open_workbench  # noqa: E402
from sm120kit.repair.lock import locked  # noqa: E402
from sm120kit.repair.planner import Workshop, make_plan  # noqa: E402
from sm120kit.repair.stub import build_stub  # noqa: E402
from sm120kit.repair.transaction import apply_plan  # noqa: E402
from sm120kit.repair.types import Plan  # noqa: E402
from sm120kit.snapshot.target import TargetOptions  # noqa: E402
from tests.wheels.kit import kit_for  # noqa: E402
from tests.wheels.variants import BROKEN, Made, make  # noqa: E402

FLASHINFER = "flashinfer-python==0.7.2.post1"


@dataclass
class Times:
    """Seconds of one step, once for each round."""

    name: str
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def take(self, work: Callable[[], Any]) -> Any:
        """Do it once, measured with all its children."""
        before, start = os.times(), time.perf_counter()
        result = work()
        self.wall_s.append(time.perf_counter() - start)
        after = os.times()
        self.cpu_s.append(sum(after[:4]) - sum(before[:4]))
        return result

    @property
    def row(self) -> str:
        """Its medians."""
        wall, cpu = statistics.median(self.wall_s), statistics.median(self.cpu_s)
        spread = f"{min(self.wall_s):.2f} to {max(self.wall_s):.2f}"
        return f"{self.name:52} {wall:7.2f} s {spread:>16} {cpu:8.2f} s"


def planned(bench: Workbench) -> Plan:
    """The plan of one repair: diagnosis, composition and the link stub; env scripts left out."""
    workshop = Workshop(
        data_dir=bench.data_dir,
        target_key=bench.key,
        target_place=bench.place,
        scripts=lambda _case, _current: {},
        stub=lambda cuda_h: build_stub(cuda_h, "cc", os.environ),
    )
    return make_plan(bench.as_repaired(), bench.checks, workshop, target=bench.target)[0]


def switched(bench: Workbench, plan: Plan) -> None:
    """All actions of the plan, journalled and synced, without a proof."""
    with locked(bench.data_dir):
        apply_plan(bench.data_dir, plan, started_at="", command="benchmark")


def view_alone(made: Made, scratch: Path, rounds: int) -> list[Times]:
    """Composing and switching, in this process."""
    options = TargetOptions(site_packages=str(made.site_packages), cuda_home=str(made.cuda_home), system_toolkits=False)
    read, plan_times, apply_times = Times("target read"), Times("view composed, stub built"), Times("view switched")
    for number in range(rounds + 1):
        bench = read.take(partial(open_workbench, Asked(options), str(scratch / f"data{number}")))
        plan = plan_times.take(partial(planned, bench))
        apply_times.take(partial(switched, bench, plan))
        if number == 0:
            for each in (read, plan_times, apply_times):
                each.wall_s.clear()
                each.cpu_s.clear()
    apply_times.name += f" ({len(plan.steps)} actions)"
    return [read, plan_times, apply_times]


def whole_command(made: Made, scratch: Path, rounds: int) -> tuple[list[Times], float, float]:
    """``fix --apply`` as a program and ``prove --fresh`` of what it made; medians of the seconds that ``fix`` takes
    beyond its own proof, and of how many rungs of it were at work at once."""
    fix, prove = Times("fix --apply"), Times("prove --fresh, of the view")
    differences, at_once = [], []
    for number in range(rounds + 1):
        folder = scratch / str(number)
        folder.mkdir()
        kit = kit_for(made, folder, named=False)
        answer = fix.take(partial(kit.fix, "--apply", "--json"))
        assert answer.code == 0, answer.err
        prove.take(partial(kit.run, "prove", "--fresh", *kit.target))
        proof = answer.data["proof"]
        differences.append(fix.wall_s[-1] - proof["seconds"])
        at_once.append(sum(each["seconds"] for each in proof["proofs"]) / proof["seconds"])
        kit.run("undo")
    for each in (fix, prove):
        del each.wall_s[0], each.cpu_s[0]
    return [fix, prove], statistics.median(differences[1:]), statistics.median(at_once[1:])


def main() -> None:
    """Build the target, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with make(BROKEN["pure"], FLASHINFER) as made, tempfile.TemporaryDirectory() as scratch:
        base = Path(scratch)
        times = view_alone(made, base, options.rounds)
        (base / "commands").mkdir()
        commands, difference, at_once = whole_command(made, base / "commands", options.rounds)
    sys.stdout.write(f"{'':52} {'wall':>9} {'spread':>16} {'CPU':>10}\n")
    sys.stdout.write("".join(f"{each.row}\n" for each in [*times, *commands]))
    sys.stdout.write(f"\nfix --apply beyond its proof: {difference:+.2f} s\n")
    sys.stdout.write(f"rungs at work at once: {at_once:.1f} on {len(os.sched_getaffinity(0))} cores\n")


if __name__ == "__main__":
    main()

"""What ``sm120kit doctor`` costs: CPU time beside ``python -c pass``, and how it grows with the target.

``python benchmarks/doctor.py [--rounds N] [--rivals]``, from the checkout, with sm120kit installed. The targets are
virtual environments with a toolkit of real NVIDIA wheels, FlashInfer and hundreds of distributions that are a name and
a version; a second toolkit is the system's, or on PATH where the system has none. CPU is user and system time of the
command and all its children.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.wheels.trees import CACHE, add_link_names, add_missing, lay  # noqa: E402 - the checkout is put on the path first
from tests.wheels.variants import HEALTHY, make  # noqa: E402

RIVALS = {
    "env-doctor check": ("env-doctor==0.3.5", ("env-doctor", "check")),
    "cuda-doctor diagnose": ("cuda-doctor==0.2.0", ("cuda-doctor", "diagnose")),
}


@dataclass
class Subject:
    """One command that is measured, and what was measured."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    cwd: Path
    """An empty folder: one of the rivals walks through whatever lies below it."""
    cpu_s: list[float] = field(default_factory=list)
    wall_s: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Run it once; its answer does not matter, that it ends does."""
        start = time.perf_counter()
        process = subprocess.Popen(
            self.command,
            env=dict(self.environment),
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.wall_s.append(time.perf_counter() - start)
        self.cpu_s.append(usage.ru_utime + usage.ru_stime)
        if process.returncode not in (0, 1):
            raise SystemExit(f"{self.name} ended with exit code {process.returncode}: {' '.join(self.command)}")


def fake_distribution(site_packages: Path, number: int) -> None:
    """A distribution as pip leaves it, small: a package of two files and its dist-info."""
    name, version = f"package_{number:04}", f"{number % 7}.{number % 11}.0"
    package, info = site_packages / name, site_packages / f"{name}-{version}.dist-info"
    package.mkdir()
    info.mkdir()
    files = {package / "__init__.py": "", package / "core.py": "VALUE = 1\n"}
    files[info / "METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n{'text ' * 400}\n"
    files[info / "RECORD"] = "".join(f"{path.relative_to(site_packages)},,\n" for path in files)
    for path, text in files.items():
        path.write_text(text)


def fake_torch(site_packages: Path) -> None:
    """What is read of torch: its dist-info and torch/version.py."""
    (site_packages / "torch").mkdir()
    (site_packages / "torch/version.py").write_text("__version__ = '2.14.1+cu130'\ncuda = '13.0'\nhip = None\n")
    (site_packages / "torch-2.14.1.dist-info").mkdir()
    (site_packages / "torch-2.14.1.dist-info/RECORD").write_text("torch/version.py,,\n")


@contextlib.contextmanager
def target(distributions: int, rivals: bool) -> Iterator[Path]:
    """A virtual environment of that many distributions; its folder."""
    base = CACHE / "trees"
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base) as scratch:
        home = Path(scratch) / "venv"
        venv.create(home, with_pip=rivals)
        (home / "empty").mkdir()
        site_packages = next(home.glob("lib/python*/site-packages"))
        if rivals:
            wanted = [requirement for requirement, _ in RIVALS.values()]
            subprocess.run([home / "bin/pip", "install", "--quiet", *wanted], check=True)
        for requirement in (*HEALTHY["13.0"].requirements(), "flashinfer-python==0.7.2.post1"):
            add_missing(lay(requirement), site_packages)
        add_link_names(site_packages / "nvidia/cu13")
        fake_torch(site_packages)
        there = sum(1 for _ in site_packages.glob("*.dist-info"))
        for number in range(distributions - there):
            fake_distribution(site_packages, number)
        yield home


def doctor_of(home: Path, second: Path, name: str, *options: str) -> Subject:
    """The doctor looking at a virtual environment."""
    return subject(home, second, name, [str(Path(sys.executable).with_name("sm120kit")), "doctor", *options])


def subject(home: Path, second: Path, name: str, command: Sequence[str]) -> Subject:
    """A command in that environment, activated, with its own toolkit as CUDA_HOME and ``second``/bin last on PATH."""
    cuda_home = next(home.glob("lib/python*/site-packages/nvidia/cu13"))
    environment = {
        "PATH": f"{home}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{second}/bin",
        "HOME": str(home),
        "VIRTUAL_ENV": str(home),
        "CUDA_HOME": str(cuda_home),
        "LC_ALL": "C.UTF-8",
    }
    return Subject(name, command, environment, home / "empty")


def second_toolkit() -> AbstractContextManager[Path]:
    """The system's toolkit, else one of wheels."""
    system = Path("/usr/local/cuda")
    return contextlib.nullcontext(system) if system.is_dir() else _made_toolkit()


@contextlib.contextmanager
def _made_toolkit() -> Iterator[Path]:
    with make(HEALTHY["13.2"]) as made:
        yield made.cuda_home


def toolkits_seen(doctor: Subject) -> int:
    """How many toolkits the report names."""
    done = subprocess.run(
        [*doctor.command, "-v"], env=doctor.environment, cwd=doctor.cwd, check=False, stdout=subprocess.PIPE, text=True
    )
    return sum(line.startswith("Toolkit /") for line in done.stdout.splitlines())


def measure(subjects: Sequence[Subject], rounds: int) -> None:
    """Run all of them in turn, so that whatever else the machine does falls on each alike."""
    for subject in subjects:
        subject.run()
        subject.cpu_s.clear()
        subject.wall_s.clear()
    for _ in range(rounds):
        for subject in subjects:
            subject.run()


def table(subjects: Sequence[Subject], unit: Subject) -> str:
    """Medians of all subjects and their ratio to ``unit``."""
    unit_s = statistics.median(unit.cpu_s)
    lines = [f"{'':34} {'CPU':>9} {'spread':>15} {'wall':>9} {'ratio':>7}"]
    for subject in subjects:
        middle, low, high = statistics.median(subject.cpu_s), min(subject.cpu_s), max(subject.cpu_s)
        spread = f"{low * 1000:.0f} to {high * 1000:.0f}"
        wall = statistics.median(subject.wall_s)
        lines.append(
            f"{subject.name:34} {middle * 1000:6.1f} ms {spread:>15} {wall * 1000:6.1f} ms {middle / unit_s:6.1f}x"
        )
    return "\n".join(lines)


def main() -> None:
    """Build the targets, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--rivals", action="store_true", help="compare with other doctors, installed for the purpose")
    options = parser.parse_args()
    with target(300, options.rivals) as small, target(1000, False) as large, second_toolkit() as second:
        unit = subject(small, second, "python -c pass", [sys.executable, "-c", "pass"])
        floor = subject(small, second, "import click, msgspec", [sys.executable, "-c", "import click, msgspec"])
        data_300 = doctor_of(small, second, "doctor --json, 300 distributions", "--json")
        data_1000 = doctor_of(large, second, "doctor --json, 1000 distributions", "--json")
        text_300 = doctor_of(small, second, "doctor, 300 distributions")
        subjects = [unit, floor, data_300, data_1000, text_300]
        if options.rivals:
            for name, (_, (program, *rest)) in RIVALS.items():
                subjects.append(subject(small, second, name, [str(small / "bin" / program), *rest]))
        measure(subjects, options.rounds)
        growth = statistics.median(data_1000.cpu_s) / statistics.median(data_300.cpu_s) - 1
        sys.stdout.write(f"toolkits seen: {toolkits_seen(text_300)}\n\n")
        sys.stdout.write(f"{table(subjects, unit)}\n\nfrom 300 to 1000 distributions: {growth:+.1%}\n")


if __name__ == "__main__":
    main()

"""Runs the real command over a tree and reads its report."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Diagnosis:
    """One run of ``doctor --json``."""

    returncode: int
    report: Mapping[str, Any]

    @property
    def errors(self) -> set[str]:
        """Ids of the checks that found errors."""
        return {finding["check"] for finding in self.report["findings"] if finding["severity"] == "error"}

    @property
    def found(self) -> set[str]:
        """Ids of the checks that found anything, be it a note."""
        return {finding["check"] for finding in self.report["findings"]}

    @property
    def crashed(self) -> list[str]:
        """Ids of the checks that crashed."""
        return [line["check"] for line in self.report["checks"] if line["outcome"] == "crashed"]


def doctor(site_packages: Path, *options: str) -> Diagnosis:
    """Examine one site-packages folder, blind to every toolkit outside it."""
    command = [sys.executable, "-m", "sm120kit", "doctor", "--json", "--no-system-toolkits"]
    done = subprocess.run(
        [*command, "--site-packages", str(site_packages), *options],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return Diagnosis(done.returncode, json.loads(done.stdout))


def env_file(folder: Path, *first_on_path: Path, **variables: str) -> Path:
    """A target environment that holds a linker on PATH, these variables and nothing else."""
    linker = os.path.dirname(shutil.which("c++") or "")
    lines = ["PATH=" + ":".join([*map(str, first_on_path), linker, "/usr/bin", "/bin"])]
    lines += [f"{name}={value}" for name, value in variables.items()]
    path = folder / "target.env"
    path.write_text("\n".join(lines) + "\n")
    return path

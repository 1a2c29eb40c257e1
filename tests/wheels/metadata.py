"""METADATA of real wheels, without the wheels: pip reads it out of the far end of each file.

A torch for CUDA weighs half a gigabyte, and all that a pin set has to be compared with are its requirements. Where a
package index does not answer such requests pip would download the whole wheel. It is ended before that, and the tests
are skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.programs import give_up
from tests.wheels.trees import CACHE, cache_lock, lay

PIP = "pip==26.3"
"""From 23.3 on a dry run does not download what metadata alone is wanted of."""
_PLATFORMS = ("manylinux2014", *(f"manylinux_2_{minor}" for minor in (35, 34, 31, 28, 27, 26, 24, 18)))
_MOST_BYTES = 64 << 20
"""What pip may write in all: a few pieces of each wheel. That is less than a torch, a Triton or a kernel package."""
_LIMIT_S = 300


def metadata(name: str, requirements: Sequence[str]) -> Path:
    """A folder that holds the dist-info of each of these (``name==version``), in it METADATA alone; kept as ``name``.

    Of METADATA it has name, version and Requires-Dist, as pip reports them for Python 3.12 on Linux and x86_64.
    """
    laid = CACHE / "metadata" / name
    if laid.is_dir():
        return laid
    pip = lay(PIP) / "pip"
    with cache_lock():
        if not laid.is_dir():
            report = report_on(pip, requirements, laid.with_name(f"{name}.part"), _MOST_BYTES)
            if report is None:
                give_up(f"pip cannot read the metadata of {', '.join(requirements)} without the wheels")
            _write(report, laid)
    return laid


def report_on(pip: Path, requirements: Sequence[str], scratch: Path, most_bytes: int) -> Any:
    """pip's installation report, or ``None`` where pip fails or writes more than ``most_bytes`` into ``scratch``."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    options = ["--dry-run", "--no-deps", "--ignore-installed", "--no-cache-dir", "--only-binary=:all:", "--quiet"]
    options += [
        "--use-feature=fast-deps",
        "--python-version=3.12",
        *(f"--platform={each}_x86_64" for each in _PLATFORMS),
    ]
    report = scratch / "report.json"
    command = [sys.executable, str(pip), "install", *options, "--report", str(report), *requirements]
    environment = {**os.environ, "HOME": str(CACHE), "TMPDIR": str(scratch)}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment)
    end = time.monotonic() + _LIMIT_S
    while process.poll() is None and time.monotonic() < end and _written(scratch) <= most_bytes:
        time.sleep(0.02)
    if process.poll() is None:
        process.kill()
    made = json.loads(report.read_text()) if process.wait() == 0 else None
    shutil.rmtree(scratch, ignore_errors=True)
    return made


def _written(folder: Path) -> int:
    """Bytes that lie on the disk; pip makes files with holes as long as the wheels."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                size += os.lstat(f"{parent}/{name}").st_blocks * 512
    return size


def _write(report: Any, laid: Path) -> None:
    scratch = laid.with_name(laid.name + ".part")
    for each in report["install"]:
        fields = each["metadata"]
        name, version = fields["name"], fields["version"]
        folder = scratch / f"{name.replace('-', '_').replace('.', '_')}-{version}.dist-info"
        folder.mkdir(parents=True)
        lines = [f"Metadata-Version: {fields['metadata_version']}", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {line}" for line in fields.get("requires_dist", ())]
        (folder / "METADATA").write_text("\n".join(lines) + "\n\n")
    scratch.rename(laid)

"""Single files out of real wheels that weigh hundreds of megabytes: read once, kept in the cache that the trees share.

pip downloads a wheel whole; what a test needs of it is taken out and the rest is thrown away.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.programs import give_up
from tests.wheels.trees import CACHE, cache_lock

_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_34_x86_64", "manylinux2014_x86_64", "manylinux_2_27_x86_64")


def pick(requirement: str, pattern: str, *, any_python: bool = True) -> Path:
    """The folder that holds those files of a wheel (``name==version``) whose paths fit a regular expression, beside its
    METADATA and RECORD. ``any_python``: the wheel serves every Python, so that for Linux on x86_64 is taken."""
    laid = CACHE / "picked" / requirement.replace("==", "-")
    if laid.is_dir():
        return laid
    with cache_lock():
        if not laid.is_dir() and not _download(requirement, pattern, laid, any_python=any_python):
            give_up(f"pip cannot download {requirement}")
    return laid


def _download(requirement: str, pattern: str, laid: Path, *, any_python: bool) -> bool:
    scratch = laid.with_name(laid.name + ".part")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    if any_python:
        options += ["--python-version", "3.12", *(f"--platform={platform}" for platform in _PLATFORMS)]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(scratch), requirement]
    if subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, env={**os.environ, "HOME": str(CACHE)}
    ).returncode:
        return False
    (wheel,) = scratch.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if re.fullmatch(pattern, name) or re.fullmatch(r"[^/]+\.dist-info/(METADATA|RECORD)", name):
                archive.extract(name, scratch)
    wheel.unlink()
    scratch.rename(laid)
    return True

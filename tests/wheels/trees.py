"""Site-packages folders made from the real NVIDIA and FlashInfer wheels, as pip lays them.

pip lays each wheel once, by name and exact version, into a folder of its own in a cache that later runs share. A tree
is made of hard links to those folders, so it costs neither disk nor time. Whoever changes a tree therefore adds or
removes names and never opens a file for writing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.programs import give_up

CACHE = Path(
    os.environ.get("SM120KIT_TEST_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sm120kit-tests"
)
"""Read when tests are collected: the tests themselves run with another HOME."""

TOOLKIT_WHEELS = {
    "13.0": {
        "nvcc": "nvidia-cuda-nvcc==13.0.88",
        "crt": "nvidia-cuda-crt==13.0.88",
        "nvvm": "nvidia-nvvm==13.0.88",
        "runtime": "nvidia-cuda-runtime==13.0.96",
        "cccl": "nvidia-cuda-cccl==13.0.85",
    },
    "13.2": {
        "nvcc": "nvidia-cuda-nvcc==13.2.78",
        "crt": "nvidia-cuda-crt==13.2.78",
        "nvvm": "nvidia-nvvm==13.2.78",
        "runtime": "nvidia-cuda-runtime==13.2.75",
        "cccl": "nvidia-cuda-cccl==13.2.75",
    },
    "13.5": {
        "nvcc": "nvidia-cuda-nvcc==13.5.37",
        "crt": "nvidia-cuda-crt==13.5.37",
        "nvvm": "nvidia-nvvm==13.5.37",
        "runtime": "nvidia-cuda-runtime==13.5.37",
        "cccl": "nvidia-cuda-cccl==13.3.5.0.6",
    },
}
"""Wheels of one CUDA release by the part they bring, as the ``cuda-toolkit`` package pins them together."""

RUNTIME_WHEELS = {
    "12.8": (
        "nvidia-cuda-nvcc-cu12==12.8.93",
        "nvidia-cuda-runtime-cu12==12.8.90",
        "nvidia-cuda-cccl-cu12==12.8.90",
        "nvidia-cuda-nvrtc-cu12==12.8.93",
    ),
    "12.9": (
        "nvidia-cuda-nvcc-cu12==12.9.86",
        "nvidia-cuda-runtime-cu12==12.9.79",
        "nvidia-cuda-cccl-cu12==12.9.27",
        "nvidia-cuda-nvrtc-cu12==12.9.86",
    ),
}
"""The cu12 sets. They hold no nvcc, whatever the name of one wheel says."""


def lay(requirement: str) -> Path:
    """The folder into which pip has laid this one wheel (``name==version``), dist-info and RECORD included."""
    laid = CACHE / "laid" / requirement.replace("==", "-")
    if laid.is_dir():
        return laid
    with cache_lock():
        if not laid.is_dir() and not _pip_install([requirement], laid, "--no-deps"):
            give_up(f"pip cannot download and lay {requirement}")
    return laid


def lay_together(name: str, requirements: Sequence[str]) -> Path:
    """The folder into which pip has laid these with all that they require; made once for each Python."""
    laid = CACHE / "laid" / f"{name}-{sys.version_info.major}.{sys.version_info.minor}"
    if laid.is_dir():
        return laid
    with cache_lock():
        if not laid.is_dir() and not _pip_install(requirements, laid):
            give_up(f"pip cannot download and lay {', '.join(requirements)}")
    return laid


@contextlib.contextmanager
def tree(*requirements: str) -> Iterator[Path]:
    """A site-packages folder holding these wheels, gone afterwards."""
    base = CACHE / "trees"
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base) as scratch:
        site_packages = Path(scratch) / "site-packages"
        site_packages.mkdir()
        for requirement in requirements:
            add_missing(lay(requirement), site_packages)
        yield site_packages


def add_missing(source: Path, target: Path) -> None:
    """Link every file of ``source`` into ``target``, keeping what is there: ``cp -rn`` without the copying."""
    for folder, _, files in os.walk(source):
        into = target / Path(folder).relative_to(source)
        into.mkdir(exist_ok=True)
        for name in files:
            with contextlib.suppress(FileExistsError):
                os.link(Path(folder) / name, into / name)


def add_link_names(cuda_home: Path) -> None:
    """What linkers look for and no wheel brings: ``lib64``, ``libcudart.so`` and a stub of ``libcuda.so``."""
    (cuda_home / "lib64").symlink_to("lib")
    (cuda_home / "lib" / "libcudart.so").symlink_to("libcudart.so.13")
    stubs = cuda_home / "lib" / "stubs"
    stubs.mkdir()
    os.link(_libcuda_stub(), stubs / "libcuda.so")


def _libcuda_stub() -> Path:
    """A shared library with libcuda's soname and nothing of substance in it, for linking against."""
    stub = CACHE / "laid" / "libcuda-stub" / "libcuda.so"
    with cache_lock():
        if not stub.exists():
            stub.parent.mkdir(parents=True, exist_ok=True)
            command = ["gcc", "-shared", "-nostdlib", "-x", "c", "-", "-Wl,-soname,libcuda.so.1", "-o", str(stub)]
            subprocess.run(command, input=b"int cuInit(unsigned flags) { return flags ? 1 : 34; }\n", check=True)
    return stub


def _pip_install(requirements: Sequence[str], laid: Path, *more: str) -> bool:
    scratch = laid.with_name(laid.name + ".part")
    shutil.rmtree(scratch, ignore_errors=True)
    laid.parent.mkdir(parents=True, exist_ok=True)
    options = ("--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary=:all:", *more)
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(scratch), *requirements]
    environment = {**os.environ, "HOME": str(CACHE)}  # pip asks a rustc for its version, which may write into HOME
    if subprocess.run(command, check=False, stdin=subprocess.DEVNULL, env=environment).returncode:
        return False
    scratch.rename(laid)
    return True


@contextlib.contextmanager
def cache_lock() -> Iterator[None]:
    """One process at a time fills the cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

"""Environments in which genuine SGLang runs without a GPU: made once per version, kept in the cache of the tests."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.programs import give_up
from tests.wheels.trees import CACHE

VERSIONS = ("0.5.12", "0.5.23")

ALONE = ("triton==3.8.0", "torchvision==0.28.0")
"""Installed without what they ask for: that is CUDA, gigabytes of it."""

COMMON = (
    "torch==2.13.0",
    "numpy",
    "fastapi",
    "uvicorn",
    "uvloop",
    "orjson",
    "pyzmq>=25.1.2",
    "psutil",
    "msgspec",
    "requests",
    "aiohttp",
    "packaging",
    "pydantic",
    "python-multipart",
    "setproctitle",
    "prometheus-client>=0.20",
    "pillow",
    "pybase64",
    "partial_json_parser",
    "tqdm",
    "einops",
    "ipython",
    "dill",
    "jsonschema",
    "gguf",
    "sentencepiece",
    "compressed-tensors",
    "soundfile==0.13.1",
    "openai-harmony==0.0.4",
)

OWN = {
    "0.5.12": (
        "transformers==5.6.0",
        "apache-tvm-ffi==0.1.9",
        "openai==2.6.1",
        "xgrammar==0.2.0",
        "interegular",
        "llguidance<0.8.0",
    ),
    "0.5.23": (
        "transformers==5.19.0",
        "tokenizers==0.23.2",
        "apache-tvm-ffi==0.1.11",
        "openai==2.8.0",
        "xgrammar==0.2.7",
    ),
}
"""What each version needs beside that, as its metadata pins it."""

RECIPE = "1"
"""Counted up when what stands above or in ``stand_in.py`` changes, so that no run meets an older environment."""


def interpreter(version: str) -> Path:
    """The python of an environment that holds this version of SGLang; made at the first call, which takes minutes."""
    home = CACHE / "engines" / f"sglang-{version}-py{sys.version_info[0]}{sys.version_info[1]}-{RECIPE}"
    python = home / "bin" / "python"
    if python.exists():
        return python
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"engine-{version}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not python.exists():
            _make(home, version)
    return python


def _make(home: Path, version: str) -> None:
    part = home.with_name(home.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    _run(sys.executable, "-m", "venv", str(part))
    pip = (str(part / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(*pip, *COMMON, *OWN[version])
    _run(*pip, "--no-deps", f"sglang=={version}", *ALONE)
    site_packages = next((part / "lib").glob("python*")) / "site-packages"
    shutil.copy(Path(__file__).with_name("stand_in.py"), site_packages / "sglang_stand_in.py")
    (site_packages / "sglang_stand_in.pth").write_text("import sglang_stand_in\n")
    part.rename(home)  # its scripts name the old path and are never called: modules are run with -m


def _run(*command: str) -> None:
    # pip asks rustc for its version, and rustup's rustc writes into HOME: that of a test must stay empty.
    environment = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"} | {"HOME": str(CACHE)}
    if subprocess.run(command, check=False, stdin=subprocess.DEVNULL, env=environment).returncode:
        give_up(f"this command failed: {' '.join(command)}")

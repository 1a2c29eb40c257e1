"""A target that a launch can be prepared for: an environment that says what it holds, a model, a driver."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.models import QWEN3_32B
from tests.planning import write_config, write_safetensors

VERSIONS = {"sglang": "0.5.23", "torch": "2.14.1", "flashinfer_python": "0.7.2", "triton": "3.8.0"}


def make_environment(folder: Path, versions: Mapping[str, str] = VERSIONS) -> Path:
    """The python of an environment in which these distributions are named and nothing lies behind the names."""
    packages = folder / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    python = folder / "bin" / "python"
    python.symlink_to(os.path.realpath(sys.executable))
    (folder / "pyvenv.cfg").write_text(
        f"home = {os.path.dirname(os.path.realpath(sys.executable))}\ninclude-system-site-packages = false\n"
        f"version = {sys.version.split()[0]}\n"
    )
    for name, version in versions.items():
        (packages / f"{name}-{version}.dist-info").mkdir()
        (packages / f"{name}-{version}.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    return python


def make_model(folder: Path, config: Mapping[str, Any] = QWEN3_32B, gib: float = 61, shards: int = 4) -> Path:
    """A checkpoint of so many GiB, of which only the headers take room on the disk."""
    write_config(folder, config)
    each = round(gib * (1 << 30) / shards / 2)
    names = {}
    for number in range(1, shards + 1):
        name = f"model-{number:05}-of-{shards:05}.safetensors"
        write_safetensors(folder / name, [(f"model.layers.{number}.weight", "BF16", [each])])
        names[f"model.layers.{number}.weight"] = name
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    (folder / "tokenizer.json").write_text("{}")
    return folder

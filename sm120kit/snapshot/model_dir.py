"""Reads the configuration of a model directory, bounded, and through the target's own files."""

from __future__ import annotations

import posixpath

from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.model_facts import ModelConfigError, ModelFacts, parse_model_config

_CONFIG_LIMIT = 4 << 20
"""Bytes. The largest known configurations have some hundred KiB."""


def read_model(files: Files, path: str) -> Fact[ModelFacts]:
    """What the config.json of a model directory (or that file itself, under any name) says."""
    is_file = posixpath.basename(path) == "config.json" or files.is_file(path)
    config = path if is_file else f"{path.rstrip('/')}/config.json"
    try:
        text = files.read(config, _CONFIG_LIMIT + 1)
    except OSError as error:
        return Unknown(f"{config} cannot be read: {error.strerror}")
    if len(text) > _CONFIG_LIMIT:
        return Unknown(f"{config} is larger than {_CONFIG_LIMIT >> 20} MiB: that is no model configuration")
    try:
        return Known(parse_model_config(text, config, _quantisation(files, config)), Source("file", config))
    except ModelConfigError as error:
        return Unknown(str(error))


def _quantisation(files: Files, config: str) -> bytes:
    """The hf_quant_config.json beside it; empty where there is none."""
    try:
        return files.read(f"{posixpath.dirname(config)}/hf_quant_config.json", _CONFIG_LIMIT)
    except OSError:
        return b""

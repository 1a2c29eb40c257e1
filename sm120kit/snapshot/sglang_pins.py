"""The versions that the installed SGLang pins, from its own METADATA."""

from __future__ import annotations

from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.records import Distributions, requires


def read_sglang_pins(context: Context, distributions: Distributions) -> Fact[tuple[str, ...]]:
    """Its Requires-Dist lines with ``==`` that belong to no extra."""
    sglang = distributions.first("sglang")
    if sglang is None:
        return Unknown("sglang is not installed")
    try:
        lines = requires(context.files, sglang)
    except OSError as error:
        return Unknown(f"{sglang.path}/METADATA cannot be read: {error.strerror}")
    pins = tuple(line for line in lines if "==" in line.partition(";")[0] and "extra ==" not in line)
    return Known(pins, Source("file", f"{sglang.path}/METADATA"))

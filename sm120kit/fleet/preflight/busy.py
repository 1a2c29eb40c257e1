"""When a GPU counts as used by somebody else. Pure."""

from __future__ import annotations

from sm120kit.fleet.spec import Gpu

QUIET = 1 << 30
"""Bytes that a display, a monitor and the driver itself take of a GPU that serves nobody."""


def is_busy(gpu: Gpu) -> bool:
    """Whether more is taken than on a GPU that serves nobody."""
    return gpu.memory_used > QUIET

"""Tests that need gcc, a linker or another program skip without it, counted; under strict mode they fail."""

from __future__ import annotations

import os
import shutil

import pytest

MISSING_PROGRAM = "program not installed: "
"""How the reason of every such skip begins: the terminal summary counts them by it."""


def strict() -> bool:
    """Whether SM120KIT_TEST_STRICT=1 forbids skipping for what is not installed."""
    return os.environ.get("SM120KIT_TEST_STRICT", "") == "1"


def require_program(*names: str) -> None:
    """Skip the running test unless every program of ``names`` is on PATH; in strict mode fail instead."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        give_up(MISSING_PROGRAM + ", ".join(missing))


def give_up(reason: str) -> None:
    """Skip the running test with ``reason``; in strict mode fail with it."""
    if strict():
        pytest.fail(f"{reason} (SM120KIT_TEST_STRICT=1 allows no skip)", pytrace=False)
    pytest.skip(reason)

"""Reads logs that are made in the test."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

from sm120kit.diagnosis.catalogue import Catalogue, read_catalogue
from sm120kit.diagnosis.logs.types import Why
from sm120kit.diagnosis.logs.verdict import why

FOLDER = Path(__file__).resolve().parents[2] / "logs"
LOGS = sorted(FOLDER.glob("*.log"))


@cache
def catalogue() -> Catalogue:
    """All checks and failures, read once."""
    return read_catalogue()


def read(log: bytes | str) -> Why:
    """What a log shows."""
    return why(io.BytesIO(log.encode() if isinstance(log, str) else log), "a log", catalogue())


def named(log: bytes | str) -> list[str]:
    """Ids of the causes that a log shows, in order."""
    return [cause.check for cause in read(log).causes]


def expected(path: Path) -> str:
    """What the name of a log in ``tests/logs`` promises."""
    return path.stem.partition("__")[0]

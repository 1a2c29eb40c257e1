"""Whether the JIT caches are filled: a marker for each set of versions, architecture, model and kernel flags."""

from __future__ import annotations

import os
import time

import msgspec

from sm120kit.fleet.types import Struct
from sm120kit.xdg import xdg_folder


class _Marker(Struct, frozen=True):
    at: float
    fleet: str


def cache_home() -> str:
    """``$XDG_CACHE_HOME/sm120kit/warm`` by XDG."""
    return os.path.join(xdg_folder("XDG_CACHE_HOME", ".cache"), "sm120kit", "warm")


def is_warm(key: str) -> bool:
    """Whether a server with this key has come up before on this machine. An empty key needs no caches."""
    return not key or os.path.exists(_path(key))


def mark_warm(key: str, fleet: str) -> None:
    """A server with this key has come up.

    Raises:
        OSError: the marker cannot be written; the next launch starts a leader again.
    """
    if not key or is_warm(key):
        return
    os.makedirs(cache_home(), 0o700, exist_ok=True)
    part = f"{_path(key)}.{os.getpid()}.part"
    with open(part, "wb") as file:  # noqa: PTH123
        file.write(msgspec.json.encode(_Marker(time.time(), fleet)))
    os.replace(part, _path(key))


def _path(key: str) -> str:
    return f"{cache_home()}/{key}.json"

"""Remembers which proofs passed, for as long as every file that they read is as it was."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from sm120kit.proof.types import Rung
from sm120kit.version import __version__

_VARIABLES = ("PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "CC", "CXX", "COMPILER_PATH")


@dataclass(frozen=True)
class ProofCache:
    """Passed proofs under ``folder``. Without a writable folder nothing is remembered and nothing fails."""

    folder: str

    def key(self, rung: Rung, environment: Mapping[str, str]) -> str:
        """Digest of what was asked: command, sources, and the variables that change what a compiler reads."""
        variables = {name: value for name, value in sorted(environment.items()) if _counts(name)}
        asked = [__version__, rung.command, sorted(rung.sources.items()), rung.needed, variables]
        return hashlib.sha256(msgspec.json.encode(asked)).hexdigest()[:32]

    def holds(self, key: str) -> bool:
        """Whether that very question passed before and nothing it read has changed since."""
        try:
            with open(self._path(key), "rb") as file:  # noqa: PTH123
                used = msgspec.json.decode(file.read(), type=list[tuple[str, int, int]])
        except (OSError, msgspec.MsgspecError):
            return False
        return bool(used) and all(_stamp(path) == (size, modified) for path, size, modified in used)

    def keep(self, key: str, used: Iterable[str]) -> None:
        """Remember that the question passed, having read these files."""
        stamped = [(path, *stamp) for path in used if (stamp := _stamp(path)) is not None]
        if not stamped:
            return
        temporary = f"{self._path(key)}.{os.getpid()}"
        with contextlib.suppress(OSError):
            os.makedirs(self.folder, exist_ok=True)
            with open(temporary, "wb") as file:  # noqa: PTH123
                file.write(msgspec.json.encode(stamped))
            os.replace(temporary, self._path(key))

    def _path(self, key: str) -> str:
        return f"{self.folder}/{key}.json"


def open_cache() -> ProofCache:
    """The cache in ``$XDG_CACHE_HOME/sm120kit/proofs``."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    cache = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
    return ProofCache(os.path.join(cache, "sm120kit", "proofs"))


def _counts(name: str) -> bool:
    return name in _VARIABLES or name.startswith(("NVCC_", "FLASHINFER_"))


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns

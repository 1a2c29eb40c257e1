"""Remembers which proofs passed, for as long as every file that they read is as it was."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from sm120kit.proof.types import Rung
from sm120kit.version import __version__
from sm120kit.xdg import xdg_folder

_VARIABLES = re.compile(
    r"PATH|CPATH|C_INCLUDE_PATH|CPLUS_INCLUDE_PATH|LIBRARY_PATH|COMPILER_PATH|GCC_EXEC_PREFIX|CC|CXX|CUDAHOSTCXX"
    r"|CUDAFE_FLAGS|PTXAS_FLAGS|OPENCC_FLAGS|CICC_PATH|INCLUDES|SYSTEM_INCLUDES|LIBRARIES|(NVCC|FLASHINFER|LD)_.*"
)
"""What gcc and nvcc read, and what an nvcc.profile takes from the environment."""

_Stamp = tuple[int, int, int, int]
"""Size, time of modification and of change, both in nanoseconds, and inode. The time of change cannot be set back."""


@dataclass(frozen=True)
class ProofCache:
    """Passed proofs under ``folder``. Without a writable folder nothing is remembered and nothing fails."""

    folder: str

    def key(self, rung: Rung, environment: Mapping[str, str]) -> str:
        """Digest of what was asked: command, sources, and the variables that change what a compiler reads."""
        variables = {name: value for name, value in sorted(environment.items()) if _VARIABLES.fullmatch(name)}
        asked = [__version__, *map(str, (rung.command, sorted(rung.sources.items()), rung.include_dirs, variables))]
        return hashlib.sha256(msgspec.json.encode(asked)).hexdigest()[:32]

    def holds(self, key: str) -> bool:
        """Whether that very question passed before and nothing it read has changed since."""
        try:
            with open(self._path(key), "rb") as file:  # noqa: PTH123
                used = msgspec.json.decode(file.read(), type=list[tuple[str, _Stamp | None]])
        except (OSError, msgspec.MsgspecError):
            return False
        return bool(used) and all(_stamp(path) == stamp for path, stamp in used)

    def keep(self, key: str, used: Iterable[str]) -> None:
        """Remember that the question passed, having read these files and missed those that are not there."""
        stamped = [(path, _stamp(path)) for path in used]
        if not stamped:
            return
        temporary = f"{self._path(key)}.{os.getpid()}"
        with contextlib.suppress(OSError, UnicodeEncodeError):
            os.makedirs(self.folder, exist_ok=True)
            with open(temporary, "wb") as file:  # noqa: PTH123
                file.write(msgspec.json.encode(stamped))
            os.replace(temporary, self._path(key))

    def _path(self, key: str) -> str:
        return f"{self.folder}/{key}.json"


def open_cache() -> ProofCache:
    """The cache in ``$XDG_CACHE_HOME/sm120kit/proofs``."""
    return ProofCache(os.path.join(xdg_folder("XDG_CACHE_HOME", ".cache"), "sm120kit", "proofs"))


def _stamp(path: str) -> _Stamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino

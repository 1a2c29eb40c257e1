"""Our own folder: where it is and what lies in it."""

from __future__ import annotations

import os

import msgspec

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.xdg import xdg_folder


class DataDir(msgspec.Struct, frozen=True):
    """``path`` is absolute. Nothing is made until something is written."""

    path: str

    @property
    def toolkits(self) -> str:
        """Folder of all toolkit views, each under its digest."""
        return f"{self.path}/toolkits"

    @property
    def journal(self) -> str:
        """Folder of all journal records, each under its number."""
        return f"{self.path}/journal"

    @property
    def targets(self) -> str:
        """Folder of all targets that were repaired."""
        return f"{self.path}/targets"

    def target(self, key: str) -> str:
        """Folder of one target: its ``current`` link and env scripts."""
        return f"{self.targets}/{key}"

    def current(self, key: str) -> str:
        """The link that says which view is live for a target."""
        return f"{self.target(key)}/current"


def unfinished_repair(data_dir: DataDir) -> int:
    """The number of the last repair in the journal where it was begun and not ended; else 0. Only the last can be: each
    command that writes ends what was left before."""
    try:
        last = max((name for name in os.listdir(data_dir.journal) if name.isdecimal()), key=int, default="")
        with open(f"{data_dir.journal}/{last or '0'}/status", encoding="ascii") as file:  # noqa: PTH123
            return int(last) if file.read(20).strip() in ("applying", "taking-back") else 0
    except (OSError, ValueError):
        return 0


def open_data_dir(given: str = "") -> DataDir:
    """The folder given, else ``$XDG_DATA_HOME/sm120kit`` by XDG."""
    if given:
        if os.path.lexists(given) and not os.path.isdir(given):
            raise Sm120kitError(
                f"--data-dir {given} is not a folder",
                hint="Name a folder, or one that can be made",
                exit_code=TARGET_UNREADABLE,
            )
        return DataDir(os.path.abspath(given))
    return DataDir(os.path.join(xdg_folder("XDG_DATA_HOME", ".local/share"), "sm120kit"))


def target_key(place: str) -> str:
    """A name for the target that no other target on the machine has.

    ``place`` is the prefix of its environment, else its site-packages. (A venv's python is a link to the base
    interpreter, which many venvs share, so the executable's real path would not do.)
    """
    return key_of(os.path.realpath(place))


def key_of(real: str) -> str:
    """The same for a path without links, also one that is not on this machine."""
    from hashlib import sha256

    name = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in os.path.basename(real))
    return f"{name.strip('-.') or 'target'}-{sha256(os.fsencode(real)).hexdigest()[:12]}"

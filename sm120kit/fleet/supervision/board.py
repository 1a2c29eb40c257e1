"""The fleet as the supervisor knows it, written down with every change."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.state import FleetFolder, make_folder, write_fleet
from sm120kit.fleet.types import Event, Fleet, Replica

_SHORTEST_PAUSE_S = 0.05
_MOST_EVENTS = 200


class Board:
    """Holds the state; :meth:`change` and :meth:`say` are how it changes. Made inside a running event loop."""

    def __init__(self, folder: FleetFolder, fleet: Fleet) -> None:
        """
        Raises:
            OSError: the state cannot be written even once.
        """
        self._folder = folder
        self.fleet = fleet
        self._written = 0.0
        self._pending: asyncio.TimerHandle | None = None
        write_fleet(folder, fleet)
        self._on_disk = self._look()
        """By what the file is known again; ``None``: the last change is not in it."""

    def keep_written(self) -> None:
        """Write what could not be written, and again what somebody took away or wrote over."""
        if self._on_disk is None or self._on_disk != self._look():
            with suppress(Sm120kitError):
                make_folder(self._folder)
            self.flush()

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = os.lstat(self._folder.state)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def replica(self, index: int) -> Replica:
        """One replica as it is."""
        return next(each for each in self.fleet.replicas if each.index == index)

    def change(self, index: int, **fields: Any) -> None:
        """Change one replica; a new state begins now."""
        before = self.replica(index)
        if "state" in fields and fields["state"] != before.state:
            fields.setdefault("since", time.time())
        after = replace(before, **fields)
        if after == before:
            return
        replicas = tuple(after if each.index == index else each for each in self.fleet.replicas)
        self.put(replicas=replicas)

    def say(self, text: str, index: int | None = None) -> None:
        """Something happened."""
        events = (*self.fleet.events, Event(time.time(), text, index))[-_MOST_EVENTS:]
        self.put(events=events)

    def put(self, **fields: Any) -> None:
        """Change what belongs to the fleet as a whole."""
        fleet = replace(self.fleet, **fields)
        good = [each for each in fleet.replicas if each.state == "verified"]
        self.fleet = replace(
            fleet,
            verified=len(good) == len(fleet.replicas) and not fleet.ended,
            granted_total=sum(each.granted or 0 for each in good),
            updated=time.time(),
        )
        self._write_soon()

    def flush(self) -> None:
        """Write it now."""
        if self._pending:
            self._pending.cancel()
            self._pending = None
        self._written = time.monotonic()
        try:
            write_fleet(self._folder, self.fleet)
            self._on_disk = self._look()
        except OSError:  # a full disk is no reason to end servers that answer
            self._on_disk = None

    def _write_soon(self) -> None:
        if self._pending:
            return
        pause = self._written + _SHORTEST_PAUSE_S - time.monotonic()
        if pause <= 0:
            self.flush()
        else:
            self._pending = asyncio.get_running_loop().call_later(pause, self.flush)

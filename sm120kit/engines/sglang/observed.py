"""What a server said of itself while it started, or says while it runs. Sizes are bytes; ``None`` = it did not say."""

from __future__ import annotations

import msgspec

from sm120kit.diagnosis.launch import Value


class Observed(msgspec.Struct, frozen=True):
    """One server, as seen in its log or at its endpoints."""

    source: str
    """Path of the log, or the address."""
    version: str = ""
    """Of SGLang."""
    version_exact: bool = True
    """False: the log only has the form that this version gives it."""
    version_line: int = 0
    """Line of the log that tells it; 0 = the server said it."""
    granted: int | None = None
    """Requests that it runs at a time."""
    tokens: int | None = None
    context: int | None = None
    state_slots: int | None = None
    free_before: int | None = None
    """Free on the GPU before the weights were loaded; logs round to hundredths of a GiB."""
    free_after: int | None = None
    """The same after that."""
    weights: int | None = None
    state_pool: int | None = None
    kv_pool: int | None = None
    graphs: int | None = None
    settings: dict[str, Value] = {}
    """Its own record of its settings, defaults resolved, by their names in that version."""
    complaints: tuple[str, ...] = ()
    """Warnings about its capacity, in its words."""
    failure: str = ""
    """Why it did not start, in its words."""
    not_understood: tuple[str, ...] = ()
    """Lines that look like a part of the start-up and fit none of the known ones."""

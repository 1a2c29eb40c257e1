"""The base of all snapshot data: plain, serialisable, comparable.

Paths are strings as the target itself would write them (inside ``--root`` they begin at that root). Memory and
file sizes are bytes. Versions are strings as printed by their owner; a *release* is ``major.minor`` or longer.
"""

from __future__ import annotations

import msgspec


class Struct(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of all snapshot data: frozen, defaults left out of the file."""

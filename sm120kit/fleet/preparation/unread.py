"""A target that was not looked at: a rehearsal runs on any machine, and nothing of that machine counts."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.machine import Driver, Host
from sm120kit.snapshot.types.snapshot import SCHEMA, Snapshot, Target
from sm120kit.version import __version__

_REASON = Unknown("a rehearsal looks at no target")


def unread_snapshot() -> Snapshot:
    """A snapshot in which every fact is unknown."""
    return Snapshot(
        schema=SCHEMA,
        tool_version=__version__,
        taken_at="",
        target=Target("interpreter", sys.executable, "a rehearsal", live=False),
        host=Host(**_unknown(Host)),
        driver=Driver(**_unknown(Driver)),
        interpreter=_REASON,
        distributions=_REASON,
        torch=_REASON,
        toolkits=(),
        consumers=(),
        link_probes=(),
        host_compilers=(),
        nvcc_on_path=(),
        environment={},
    )


def _unknown(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Every fact of that kind of data that has no default."""
    return {field.name: _REASON for field in msgspec.structs.fields(kind) if field.required}

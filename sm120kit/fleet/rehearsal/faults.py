"""What can be made to go wrong in a rehearsal: ``--fault KIND[:REPLICA[:once]]``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from sm120kit.errors import Sm120kitError

KINDS: dict[str, str] = {
    "hang": "its scheduler stops for good as soon as it is ready",
    "hangs-later": "its scheduler stops for good some seconds after it became ready",
    "slow": "it decodes at a third of the speed",
    "crash-at-graphs": "it runs out of memory while it captures its CUDA graphs",
    "wrong-text": "it answers as broken kernels do: one token, again and again",
    "empty-reasoning": "it answers without the thinking that was asked for",
    "lower-grant": "it runs half of the requests at a time",
    "stolen-port": "another process takes its port while it loads",
    "refuses-sigterm": "it goes on after SIGTERM",
    "leaks-memory": "what it held on its GPU stays after its end",
    "dies-later": "its scheduler is killed some seconds after it became ready",
    "exits-at-start": "it ends with an error before it loads anything",
}
"""Every kind, and what a stand-in with it does."""


class Fault(NamedTuple):
    """One fault asked for."""

    kind: str
    replica: int | None
    """``None``: every replica has it."""
    once: bool
    """Only the first start of the replica has it, so that its restart can be watched."""


def parse_fault(text: str) -> Fault:
    """Read ``hang``, ``hang:3`` or ``hang:3:once``.

    Raises:
        Sm120kitError: there is no such kind, or the rest is no replica.
    """
    kind, *rest = text.strip().split(":")
    if kind not in KINDS:
        raise Sm120kitError(
            f"--fault {text!r}: {kind!r} is no fault that can be rehearsed",
            hint="Give one of these",
            listed=list(KINDS),
        )
    replica, once = (*rest, "", "")[:2]
    if len(rest) > 2 or (rest and not re.fullmatch(r"[0-9]{1,9}", replica)):
        raise Sm120kitError(
            f"--fault {text!r}: after the kind follow a replica's number and, if wanted, once",
            hint=f"Write it as {kind}:3 or {kind}:3:once; without a number every replica has it",
        )
    if once not in ("", "once") or (len(rest) == 2 and not once):
        raise Sm120kitError(f"--fault {text!r}: {once!r} is not once", hint=f"Write it as {kind}:{replica}:once")
    return Fault(kind, int(replica) if rest else None, bool(once))


def faults_of(texts: Iterable[str], replica: int) -> tuple[Fault, ...]:
    """Those that this replica has.

    Raises:
        Sm120kitError: as :func:`parse_fault`.
    """
    return tuple(fault for fault in map(parse_fault, texts) if fault.replica in (None, replica))

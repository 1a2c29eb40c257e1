"""Why a replica ended, from what it wrote."""

from __future__ import annotations

from sm120kit.diagnosis.types import Manual, Remedy
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.types import Cause

_MOST = 3


def causes_in(log: str) -> tuple[Cause, ...]:
    """The causes that the log shows, first cause first; empty where it shows none that is known.

    Takes some tenths of a second: the catalogue of failures is read.
    """
    from sm120kit.diagnosis.catalogue import read_catalogue
    from sm120kit.diagnosis.logs.opening import open_log
    from sm120kit.diagnosis.logs.verdict import why

    try:
        with open_log(log) as stream:
            read = why(stream, log, read_catalogue(()))
    except (Sm120kitError, OSError):
        return ()
    if read.causes:
        return tuple(
            Cause(
                each.check,
                each.message,
                each.line,
                each.text,
                tuple(_in_words(remedy) for remedy in each.remedies),
            )
            for each in read.causes[:_MOST]
        )
    return tuple(Cause("", "the log shows no cause that is known", each.line, each.text) for each in read.suspects[:1])


def _in_words(remedy: Remedy) -> str:
    commands = remedy.commands if isinstance(remedy, Manual) else ()
    return ": ".join((remedy.text, *commands[:1]))

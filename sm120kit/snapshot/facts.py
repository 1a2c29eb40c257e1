"""A fact is a value with its source, or *unknown* with the reason; never a bare ``None``."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec

T = TypeVar("T")

SourceKind = Literal["file", "wheel", "command", "variable", "driver", "option", "system"]


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a value was read.

    ``kind`` says how to read ``where``: a path, a wheel (``name version``), a command line, the name of an
    environment variable, an NVML function, an option of ours, or a system call. ``owner`` is the wheel whose
    RECORD lists the file (``name version``), empty if none does.
    """

    kind: SourceKind
    where: str
    line: int = 0
    owner: str = ""


class Known(msgspec.Struct, Generic[T], frozen=True, tag="known", tag_field="state"):
    """A value and where it was read."""

    value: T
    source: Source


class Unknown(msgspec.Struct, frozen=True, tag="unknown", tag_field="state"):
    """No value, and why: a sentence for people."""

    reason: str


Fact = Known[T] | Unknown

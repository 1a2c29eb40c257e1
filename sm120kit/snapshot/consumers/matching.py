"""From the compiler that a consumer would start to the tree that this compiler belongs to."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from msgspec.structs import replace

from sm120kit.snapshot.consumers import triton
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Known, Source
from sm120kit.snapshot.nvcc_on_path import programs_behind
from sm120kit.snapshot.types.toolkits import Consumer, Toolkit


def homes_of(context: Context, consumers: Sequence[Consumer]) -> dict[str, str]:
    """Folders to read as toolkits because a consumer takes them, each with the step of its rule that led there."""
    homes: dict[str, str] = {}
    for consumer in consumers:
        if consumer.name != triton.NAME and isinstance(consumer.cuda_home, Known):
            homes.setdefault(consumer.cuda_home.value, consumer.found_via)
        if isinstance(consumer.nvcc, Known) and _is_named(consumer.nvcc.source):
            program = programs_behind(context, consumer.nvcc.value)[-1]
            homes.setdefault(_tree(program), consumer.nvcc.source.where)
    return homes


def match_consumers(
    context: Context, consumers: Sequence[Consumer], toolkits: Sequence[Toolkit]
) -> tuple[Consumer, ...]:
    """The same consumers with ``toolkit`` filled in."""
    return tuple(replace(consumer, toolkit=_toolkit_of(context, consumer, toolkits)) for consumer in consumers)


def tree_behind(context: Context, nvcc: str, toolkits: Sequence[Toolkit]) -> str:
    """``home`` of the toolkit whose compiler runs when ``nvcc`` is called; empty where no such tree was read.

    A script hands over to another tree. A link does not: nvcc takes its own place from the name it was called by, so
    the folder of a link to nvcc comes before the folder of the file.
    """
    for program in reversed(programs_behind(context, nvcc)):
        real_folder = _real(context, posixpath.dirname(program))
        for home in (_tree(program), posixpath.dirname(real_folder), _tree(_real(context, program))):
            if toolkit := _at(home, toolkits):
                return toolkit
    return ""


def _is_named(source: Source) -> bool:
    """Whether a variable names the compiler itself, and not the home it lies in."""
    return source.kind == "variable" and source.where not in ("CUDA_HOME", "CUDA_PATH")


def _toolkit_of(context: Context, consumer: Consumer, toolkits: Sequence[Toolkit]) -> str:
    if isinstance(consumer.nvcc, Known) and (home := tree_behind(context, consumer.nvcc.value, toolkits)):
        return home
    if isinstance(consumer.cuda_home, Known):
        home = consumer.cuda_home.value
        return _at(home, toolkits) or _at(_real(context, home), toolkits)
    return ""


def _at(path: str, toolkits: Sequence[Toolkit]) -> str:
    path = posixpath.normpath(path)
    for toolkit in toolkits:
        if path in map(posixpath.normpath, (toolkit.home, toolkit.real_home, *toolkit.aliases)):
            return toolkit.home
    return ""


def _tree(program: str) -> str:
    return posixpath.dirname(posixpath.dirname(program))


def _real(context: Context, path: str) -> str:
    try:
        return context.files.real(path)
    except (OSError, ValueError):
        return path

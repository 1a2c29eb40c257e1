"""Every nvcc on the target's PATH, in its order: compilers, scripts in front of one, and what cannot run."""

from __future__ import annotations

from sm120kit.snapshot.consumers.visibility import visible
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.nvcc_wrapper import HEAD, executed_by
from sm120kit.snapshot.types.toolkits import Nvcc

_MOST_SCRIPTS = 5


def read_nvcc_on_path(context: Context) -> tuple[Nvcc, ...]:
    """All of them, those that the shell would pass over included; without system toolkits only the target's own."""
    candidates = (f"{folder.rstrip('/')}/nvcc" for folder in context.path_dirs)
    return tuple(
        _nvcc(context, path)
        for path in candidates
        if (context.files.exists(path) or context.files.is_link(path)) and visible(context, path)
    )


def programs_behind(context: Context, path: str) -> tuple[str, ...]:
    """``path`` and, where it is a script, what it starts, and so on: the last one is the compiler itself."""
    chain = [path]
    while len(chain) <= _MOST_SCRIPTS:
        program = executed_by(_head(context, chain[-1]), context.environment)
        if not program or program in chain:
            break
        chain.append(program)
    return tuple(chain)


def _nvcc(context: Context, path: str) -> Nvcc:
    files = context.files
    try:
        real = files.real(path)
    except OSError:
        return Nvcc(path, _link_text(context, path), "dangling")
    if not files.is_executable(path):
        return Nvcc(path, real, "not-executable")
    head = _head(context, path)
    if head.startswith(b"#!"):
        return Nvcc(path, real, "script", executed_by(head, context.environment))
    return Nvcc(path, real, "binary")


def _head(context: Context, path: str) -> bytes:
    try:
        return context.files.read(path, HEAD)
    except OSError:
        return b""


def _link_text(context: Context, path: str) -> str:
    try:
        return context.files.link(path)
    except OSError:
        return path

"""The environment variables of the target: this process's, a file's, or a running process's."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError, code_of
from sm120kit.patterns import pattern
from sm120kit.snapshot.context import DEFAULT_PATH
from sm120kit.snapshot.files import Files

_LINE = pattern(r"\s*(?:export\s+|declare\s+-x\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_ESCAPED = pattern(r'\\(["\\$`])')
_COMMENT = pattern(r"\s+#.*")


def read_environment(
    env_file: str, pid: int, *, unpacked: bool = False, of_image: Mapping[str, str] | None = None
) -> tuple[dict[str, str], str]:
    """The target's variables, and in words where they come from. PATH is always set.

    ``unpacked``: the target is the unpacked root of an image. ``of_image``: what an image's own configuration sets;
    those of a file come on top, as with ``docker run --env-file``.

    Raises:
        Sm120kitError: the file or process named cannot be read.
    """
    if of_image is not None:
        environment, words = dict(of_image), "the image's own (Env of its configuration)"
        if env_file:
            environment, words = {**environment, **_of_file(env_file)}, f"{words}, with --env-file {env_file} on top"
    elif env_file:
        environment, words = _of_file(env_file), f"--env-file {env_file}"
    elif pid:
        environment, words = _of_process(pid), f"process {pid}"
    elif unpacked:
        environment, words = {}, "empty: an unpacked image has no process to take one from"
    else:
        environment, words = dict(os.environ), "this process"
    environment.setdefault("PATH", DEFAULT_PATH)
    return environment, words


def parse_environment(content: bytes) -> dict[str, str]:
    """Variables from KEY=VALUE lines (``export``, quotes and comments allowed) or NUL-separated ones.

    Nothing is expanded: ``$PATH`` stays these five characters, as for systemd and docker. Lines of another form
    are passed over; the last of two equal names counts, of a process's own the first, which getenv returns.
    """
    if b"\0" in content:
        pairs = [piece.partition("=") for piece in _decode(content).split("\0")]
        return {name: value for name, equals, value in reversed(pairs) if equals and name}
    text = _decode(content.removeprefix(b"\xef\xbb\xbf"))
    matches = (_LINE.fullmatch(line) for line in text.replace("\r\n", "\n").split("\n"))
    return {match[1]: _unquoted(match[2].strip()) for match in matches if match}


def lines_left_out(path: str) -> int:
    """How many lines of an environment file are neither a variable nor empty nor a comment; 0 where it has no lines,
    as a copy of /proc/PID/environ, no variable at all, or cannot be read."""
    try:
        content = Files().read(os.path.abspath(path))
    except OSError:
        return 0
    if b"\0" in content or not parse_environment(content):
        return 0
    lines = (line.strip() for line in _decode(content.removeprefix(b"\xef\xbb\xbf")).split("\n"))
    return sum(not line.startswith(("#", ";")) and not _LINE.fullmatch(line) for line in lines if line)


def _unquoted(value: str) -> str:
    if value.startswith("'"):
        return value[1:].partition("'")[0]
    if value.startswith('"'):
        closed = re.match(r'"((?:[^"\\]|\\.)*)"', value)
        return _ESCAPED.sub(r"\1", closed[1]) if closed else value
    return _COMMENT.sub("", value, count=1)


def _of_file(path: str) -> dict[str, str]:
    try:
        content = Files().read(os.path.abspath(path))
    except OSError as error:
        from sm120kit.snapshot.misnamed import near_file

        raise Sm120kitError(
            f"the environment file {path} cannot be read: {error.strerror}",
            hint=near_file(path, error, otherwise="Name a file of KEY=VALUE lines, or leave --env-file out"),
            exit_code=code_of(error),
        ) from error
    environment = parse_environment(content)
    if not environment:
        raise Sm120kitError(
            f"the environment file {path} holds no variable",
            hint="Write one KEY=VALUE per line, or copy /proc/PID/environ of a running server",
            exit_code=TARGET_UNREADABLE,
        )
    return environment


def _of_process(pid: int) -> dict[str, str]:
    try:
        content = Files().read(f"/proc/{pid}/environ")
    except PermissionError as error:
        raise Sm120kitError(
            f"the environment of process {pid} may not be read: it belongs to another user",
            hint=f"Run as that user or as root, or copy /proc/{pid}/environ and name the copy with --env-file",
            exit_code=TARGET_UNREADABLE,
        ) from error
    except OSError as error:
        raise Sm120kitError(
            f"there is no process {pid} here",
            hint="A process inside another container has another number there; look for it with ps",
            exit_code=TARGET_UNREADABLE,
        ) from error
    environment = parse_environment(content + b"\0")
    if not environment:
        raise Sm120kitError(
            f"process {pid} has no environment: it is ending, or belongs to the kernel", exit_code=TARGET_UNREADABLE
        )
    return environment


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")

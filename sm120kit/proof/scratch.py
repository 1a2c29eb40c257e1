"""Where a rung runs: a folder of its own that goes with it, or one that is kept for a person to look into."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sm120kit.errors import USAGE, Sm120kitError
from sm120kit.proof.stale_scratch import locked_scratch
from sm120kit.proof.types import Rung

_FOLDER = '"$PWD"'


@dataclass(frozen=True)
class Kept:
    """A folder in which every rung keeps its sources, its command and what it made."""

    folder: str


def open_kept(folder: str) -> Kept:
    """The folder, made if it is not there.

    Raises:
        Sm120kitError: it cannot be made, or holds something, which an output of a proof could be mistaken for.
    """
    path = os.path.abspath(folder)
    try:
        os.makedirs(path, exist_ok=True)
        taken = bool(os.listdir(path))
    except OSError as error:
        raise Sm120kitError(f"{path} cannot be used: {error.strerror}", exit_code=USAGE) from error
    if taken:
        raise Sm120kitError(f"{path} is not empty", hint="Name a new folder with --keep", exit_code=USAGE)
    return Kept(path)


@contextlib.contextmanager
def scratch_folder(rung: Rung, kept: Kept | None) -> Iterator[str]:
    """A folder that holds the sources of ``rung``; with ``kept`` also a script that runs it again."""
    if kept is None:
        with locked_scratch() as scratch:
            _write(scratch, rung.sources)
            yield scratch
        return
    scratch = os.path.join(kept.folder, re.sub(r"[^\w.-]+", "-", "-".join((rung.name, *rung.consumers))))
    os.makedirs(scratch)
    _write(scratch, {**rung.sources, "run.sh": _script(rung)})
    yield scratch


def command_shown(rung: Rung) -> str:
    """The command as a person would type it in the folder that holds the sources."""
    # FlashInfer's workspace and HOME have to be absolute.
    given = [
        f"{name}={_FOLDER if value == '{scratch}' else shlex.quote(value)}" for name, value in rung.environment.items()
    ]
    return " ".join([*given, shlex.join(_here(word) for word in rung.command)])


def output_shown(output: str, scratch: str) -> str:
    """What a program printed, with the scratch folder's files under their own names."""
    return output.replace(f"{scratch}/", "").replace(scratch, ".")


def _script(rung: Rung) -> str:
    return f'#!/bin/sh\ncd "$(dirname "$0")" || exit\n{command_shown(rung)}\n'


def _here(word: str) -> str:
    return word.replace("{scratch}/", "").replace("{scratch}", ".")


def _write(folder: str, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)

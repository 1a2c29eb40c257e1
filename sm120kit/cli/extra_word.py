"""What was probably meant by a word that a command does not take, from what lies at that path."""

from __future__ import annotations

import os
import posixpath

import click

from sm120kit.snapshot.files import Files
from sm120kit.snapshot.misnamed import holds_packages, near_packages, near_python

_LOGS = (".log", ".log.gz", ".out", ".err", ".txt")
_ARCHIVES = (".tar", ".tar.gz", ".tgz")


def meant_by(word: str, command: click.Command) -> str:
    """How the file or folder ``word`` is given to ``command``, or to another one; empty where nothing tells."""
    options = {
        option for parameter in command.params if not getattr(parameter, "hidden", False) for option in parameter.opts
    }
    if "--python" not in options:
        return ""
    files, path = Files(), os.path.abspath(word)
    if files.is_dir(path):
        option, value = _of_folder(files, path)
    elif files.is_executable(path) and posixpath.basename(path).startswith("python"):
        option, value = "--python", path
    elif word.endswith(_LOGS):
        return f"A log is read by: sm120kit why {word}."
    elif word.endswith(".json"):
        option, value = "--snapshot", word
    elif word.endswith(_ARCHIVES):
        option, value = "--image-archive", word
    else:
        option, value = "", ""
    return f"Did you mean {option} {value}?" if option in options else ""


def _of_folder(files: Files, path: str) -> tuple[str, str]:
    if files.is_file(f"{path}/config.json"):
        return "--model", path
    if files.exists(f"{path}/bin/nvcc"):
        return "--cuda-home", path
    if python := near_python(files, path):
        return "--python", python
    if holds_packages(files, path):
        return "--site-packages", path
    if packages := near_packages(files, path):
        return "--site-packages", packages
    if files.is_dir(f"{path}/etc") and files.is_dir(f"{path}/usr"):
        return "--root", path
    return "", ""

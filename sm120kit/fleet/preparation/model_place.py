"""Where the model that was named lies, before a server looks for it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal

from sm120kit.fleet.types import Struct
from sm120kit.snapshot.files import Files

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://")


class ModelPlace(Struct, frozen=True):
    """A model as named, and what that turned out to be."""

    name: str
    kind: Literal["folder", "file", "cached", "hub", "remote", "nothing"]
    """``cached``: a name of the hub whose snapshot lies in the cache; ``hub``: one that does not; ``remote``: an
    address; ``nothing``: no path that is there, and no name that a hub could know."""
    folder: str = ""
    """Where its files lie, absolute; empty where that is not on this machine."""
    cache: str = ""
    """Folder of the hub's cache that was looked into."""


def place_model(
    model: str, environment: Mapping[str, str], revision: str = "", files: Files | None = None
) -> ModelPlace:
    """Find out what ``model`` names, as SGLang does: a path that is there comes first."""
    disk = files or Files()
    path = os.path.abspath(os.path.expanduser(model))
    if disk.is_dir(path):
        return ModelPlace(model, "folder", path)
    if disk.exists(path):
        return ModelPlace(model, "file", path)
    if _REMOTE.match(model):
        return ModelPlace(model, "remote")
    if not _HUB_NAME.fullmatch(model):
        return ModelPlace(model, "nothing")
    cache = hub_cache(environment)
    folder = _snapshot(disk, f"{cache}/models--{model.replace('/', '--')}", revision or "main")
    return ModelPlace(model, "cached" if folder else "hub", folder, cache)


def hub_cache(environment: Mapping[str, str]) -> str:
    """Folder in which huggingface_hub keeps what it downloaded."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environment.get(name):
            return os.path.expanduser(environment[name])
    home = environment.get("HF_HOME") or os.path.join(
        environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface"
    )
    return os.path.join(os.path.expanduser(home), "hub")


def _snapshot(files: Files, repository: str, revision: str) -> str:
    """The folder of one revision; empty where it was never downloaded."""
    try:
        commit = files.text(f"{repository}/refs/{revision}", 200).strip()
    except OSError:
        commit = revision
    folder = f"{repository}/snapshots/{commit}"
    return folder if re.fullmatch(r"[\w.-]+", commit) and files.is_dir(folder) else ""

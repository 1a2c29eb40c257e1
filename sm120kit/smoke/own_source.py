"""Where this sm120kit was installed from, as pip takes it on another machine."""

from __future__ import annotations

import importlib.metadata
import re
from urllib.parse import urlsplit

import msgspec

from sm120kit.version import __version__

RELEASE = f"sm120kit=={__version__}"

HARMLESS = re.compile(r"[A-Za-z0-9+:/._@=-]+")
"""What means nothing to YAML, a shell or a Dockerfile."""


class _Vcs(msgspec.Struct):
    vcs: str
    commit_id: str


class _DirectUrl(msgspec.Struct):
    """The parts of direct_url.json that matter here (PyPA specifications, "Recording the Direct URL Origin")."""

    url: str
    vcs_info: _Vcs | None = None


def own_requirement() -> str:
    """The release, or the repository or archive that it was fetched from; empty where that is on this machine."""
    try:
        recorded = importlib.metadata.distribution("sm120kit").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout that was never installed
        return ""
    return requirement_in(recorded)


def requirement_in(recorded: str | None) -> str:
    """The same from what pip wrote into direct_url.json; ``None``: it wrote none, as for what comes from an index."""
    if recorded is None:
        return RELEASE
    try:
        source = msgspec.json.decode(recorded, type=_DirectUrl)
        parts = urlsplit(source.url)
    except (msgspec.MsgspecError, ValueError):
        return ""
    if parts.scheme not in ("http", "https", "ssh") or ":" in parts.netloc.rpartition("@")[0]:
        return ""  # a file of this machine, or a password in it
    vcs = source.vcs_info
    text = f"{vcs.vcs}+{source.url}@{vcs.commit_id}" if vcs else source.url
    return text if HARMLESS.fullmatch(text) else ""

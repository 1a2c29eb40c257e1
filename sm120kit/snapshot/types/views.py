"""A toolkit view of ours that is in place, as plain data."""

from __future__ import annotations

from sm120kit.snapshot.facts import Fact
from sm120kit.snapshot.types.base import Struct


class ViewSource(Struct, frozen=True):
    """One file that a toolkit view was made of, as it was then. ``modified_ns``: nanoseconds since 1970."""

    path: str
    size: int
    modified_ns: int


class ViewManifest(Struct, frozen=True):
    """What lies in every toolkit view as ``sm120kit-view.json``."""

    tool_version: str
    release: str
    """CUDA release of its compiler (``13.0``)."""
    sources: tuple[ViewSource, ...]
    homes: tuple[str, ...]
    """The trees that its parts come from."""
    parts: dict[str, str]
    """Which source each part comes from, in words."""
    digest: str
    target: str = ""
    """The environment's prefix, or the site-packages, that it serves."""
    names: tuple[str, ...] = ()
    """Every link and file of the view, relative to it."""


class LiveView(Struct, frozen=True):
    """The toolkit view that is live for this target."""

    current: str
    """The link that names it: what CUDA_HOME should be."""
    path: str
    """The view itself."""
    env_script: str
    """The script that makes a shell use it."""
    in_use: bool
    """Whether the target's environment has CUDA_HOME at this view."""
    manifest: Fact[ViewManifest]
    changed: tuple[str, ...] = ()
    """Sources that are no longer as they were."""
    gone: tuple[str, ...] = ()
    """Sources, and paths of the view that every compile needs, that are not there any more or lead nowhere."""
    lacking: tuple[str, ...] = ()
    """The same of the view's other paths: headers and libraries that some modules need."""

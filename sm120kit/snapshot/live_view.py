"""Reads which toolkit view is live for a target, and whether the files it leads to are still as they were."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping

import msgspec

from sm120kit.data_dir import DataDir
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.types.views import LiveView, ViewManifest

MANIFEST = "sm120kit-view.json"


def read_live_view(data_dir: DataDir, target_key: str, environment: Mapping[str, str]) -> Fact[LiveView]:
    """The view that ``targets/<key>/current`` leads to; unknown where this target was never repaired."""
    current = data_dir.current(target_key)
    try:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(current), os.readlink(current)))
    except FileNotFoundError:
        return Unknown(f"this target has no repair in {data_dir.path}")
    except OSError as error:
        return Unknown(f"{current} cannot be read: {error.strerror}")
    manifest = read_manifest(path)
    changed, gone = _compare(manifest.value) if isinstance(manifest, Known) else ((), ())
    home = environment.get("CUDA_HOME") or environment.get("CUDA_PATH") or ""
    return Known(
        LiveView(
            current=current,
            path=path,
            env_script=f"{data_dir.target(target_key)}/env.sh",
            in_use=bool(home) and posixpath.normpath(home) in (current, path),
            manifest=manifest,
            changed=changed,
            gone=gone,
        ),
        Source("file", current),
    )


def read_manifest(view: str) -> Fact[ViewManifest]:
    """What a view says of itself."""
    path = f"{view}/{MANIFEST}"
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return Known(msgspec.json.decode(file.read(1 << 20), type=ViewManifest), Source("file", path))
    except OSError as error:
        return Unknown(f"{path} cannot be read: {error.strerror}")
    except msgspec.MsgspecError as error:
        return Unknown(f"{path} does not describe a view: {error}")


def _compare(manifest: ViewManifest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    changed, gone = [], []
    for source in manifest.sources:
        try:
            status = os.stat(source.path)
        except OSError:
            gone.append(source.path)
            continue
        if (status.st_size, status.st_mtime_ns) != (source.size, source.modified_ns):
            changed.append(source.path)
    return tuple(changed), tuple(gone)

"""Reads which toolkit view is live for a target, and whether it and the files it leads to are still as they were."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping

import msgspec

from sm120kit.data_dir import DataDir
from sm120kit.patterns import pattern
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.types.toolkits import COMPILE_HEADERS
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
    changed, gone, lacking = _compare(path, manifest.value) if isinstance(manifest, Known) else ((), (), ())
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
            lacking=lacking,
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


def _compare(view: str, manifest: ViewManifest) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    changed, gone = [], []
    for source in manifest.sources:
        try:
            status = os.stat(source.path)
        except OSError:
            gone.append(source.path)
            continue
        if (status.st_size, status.st_mtime_ns) != (source.size, source.modified_ns):
            changed.append(source.path)
    missing = dict(_missing_names(view, manifest))
    gone += [path for path, needed in missing.items() if needed]
    lacking = (path for path, needed in missing.items() if not needed)
    return tuple(changed), tuple(dict.fromkeys(gone)), tuple(lacking)


_NEEDED = pattern(
    r"bin/(nvcc|nvcc\.profile|ptxas|fatbinary|cudafe\+\+)|nvvm|lib|lib64/libcudart\.so.*|lib64/stubs/libcuda\.so"
    r"|include/(crt|nv|cccl/\w+)"
)


def _missing_names(view: str, manifest: ViewManifest) -> Iterator[tuple[str, bool]]:
    """What a view has no more of all that it was laid out with: its own paths, and the ends of links that lead nowhere;
    each with whether every compile needs it."""
    folders: dict[str, dict[str, bool]] = {}
    for name in manifest.names:
        folder, base = posixpath.split(name)
        if folder not in folders:
            folders[folder] = _links_of(f"{view}/{folder}")
        is_link = folders[folder].get(base)
        if is_link is None:
            yield posixpath.join(view, name), _is_needed(name)
        elif is_link and not os.path.exists(path := f"{view}/{name}"):
            yield os.path.realpath(path), _is_needed(name)


def _is_needed(name: str) -> bool:
    return bool(_NEEDED.fullmatch(name)) or name.removeprefix("include/") in COMPILE_HEADERS


def _links_of(folder: str) -> dict[str, bool]:
    """The names in a folder, and whether each is a link; none where it cannot be listed."""
    try:
        with os.scandir(folder) as found:
            return {entry.name: entry.is_symlink() for entry in found}
    except OSError:
        return {}
